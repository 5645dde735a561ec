"""Which operations the cube core works on and which the vector cores do: the same kernel, read twice.

The cube needs what its products are made of; the vector cores what is stored. Where a vector core needs a product, it
is handed over, and so is what a vector core computed and a product is made of. Both run the loops and branches around
what they need, so both come by all that is handed over in one order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from labkit.triton.forms import SIZE, C
from labkit.triton.ttir import Op, Value, parse

EFFECTS = ("tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.print", "tt.return", "scf.yield")
NARROWS = ("arith.truncf", "tt.fp_to_fp")
RETURNS = "cf.cond_br"  # an early return: every kind of core leaves out the rest
BRANCHES = ("scf.if", RETURNS)


@dataclass
class Part:
    """What one kind of core needs: operations, and the values that loops hand on."""

    ops: set[Op] = field(default_factory=set)
    values: set[Value] = field(default_factory=set)


def zero(v: Value) -> bool:
    return v.op is not None and v.op.name == "arith.constant" and v.op.const == 0


def carried(v: Value) -> tuple[Op, int] | None:
    """(loop, number) of a value that a loop hands on, inside it or behind it."""
    for op in {u.block.parent for u in v.users if u.block.parent is not None} | ({v.op} if v.op else set()):
        while op is not None:
            if op.name == "scf.for":
                if v in op.results:
                    return op, op.results.index(v)
                if v in op.blocks[0].args[1:]:
                    return op, op.blocks[0].args.index(v) - 1
            op = op.block.parent if op.block else None
    return None


def accumulator(loop: Op, i: int) -> bool:
    """Whether what a loop hands on stays in L0C: it begins as 0 and products are added to it, nothing else."""
    arg, last = loop.blocks[0].args[1 + i], loop.blocks[0].ops[-1].operands[i]
    begins = loop.operands[3 + i]
    return (zero(begins) or product(begins)) and len(arg.users) == len(last.users) == 1 and _added_to(arg, last)


def _added_to(arg: Value, last: Value) -> bool:
    """Whether `last` is `arg` and the products that are added to it: two sums that change places are none."""
    if last is arg or last.op is None:
        return False
    while last is not arg:
        if last.op is not None and last.op.name == "tt.dot":
            last = last.op.operands[2]
        elif last.op is not None and last.op.name == "scf.for" and accumulator(*(inner := carried(last))):
            last = inner[0].operands[3 + inner[1]]
        else:
            return False
    return True


def product(v: Value) -> bool:
    """Whether a value comes from the cube: of tl.dot, or of a loop that adds them up."""
    if v.op is not None and v.op.name == "tt.dot":
        return True
    found = carried(v)
    return found is not None and accumulator(*found)


def handed(v: Value) -> bool:
    """Whether a product is complete here: nobody adds to it."""
    if v.op is None or not product(v):
        return False
    return not all(
        (u.name == "tt.dot" and u.operands[2] is v)
        or (u.name == "scf.for" and v in u.operands[3:] and accumulator(u, u.operands.index(v, 3) - 3))
        or (
            u.name == "scf.yield"
            and u.block.parent.name == "scf.for"
            and accumulator(u.block.parent, u.operands.index(v))
        )
        for u in v.users
    )


def source(v: Value) -> Value:
    """What an operand of tl.dot is the transpose of, or itself: the cube core can read either way round."""
    while v.op is not None and v.op.name == "tt.trans":
        v = v.op.operands[0]
    return v


def sent(func: Op, computed: set[Value]) -> list[Value]:
    """Operands of tl.dot that the vector cores hand over: what is not simply loaded. computed: what was loaded, but in
    a way that the cube core has no copy for."""
    found = [source(x) for op in func.walk() if op.name == "tt.dot" for x in op.operands[:2]]
    return [v for v in dict.fromkeys(found) if v in computed or not plainly_loaded(v)]


def plainly_loaded(v: Value) -> bool:
    """Whether a value is loaded, and from an address that no tile has a part in."""
    if v.op is None or v.op.name != "tt.load":
        return False
    seen, stack = set(), list(v.op.operands)
    while stack:
        x = stack.pop()
        if x in seen:
            continue
        seen.add(x)
        if found := carried(x):
            loop, i = found
            stack += [loop.operands[3 + i], loop.blocks[0].ops[-1].operands[i]]
        elif x.op is not None:
            if x.shape and x.op.name in ("tt.load", "tt.dot", "tt.reduce", "tt.scan", "tt.gather"):
                return False
            stack += x.op.operands
    return True


def values(func: Op) -> list[Value]:
    """All of them, in one order: a kernel that is read twice has each at the same place."""
    return [v for op in func.walk() for v in [*(a for b in op.blocks for a in b.args), *op.results]]


def needs(start: list[Value], ops: list[Op], stop, given: set[Value] = frozenset()) -> Part:
    """All that leads to these values and operations. stop: values behind which another core's work begins; given:
    values that are another core's altogether."""
    part = Part()
    stack: list[Value] = list(start)

    def take(op: Op) -> None:
        if op in part.ops:
            return
        part.ops.add(op)
        if op.name == "scf.for":
            stack.extend(op.operands[:3])
        elif op.name in BRANCHES:
            stack.append(op.operands[0])
        if op.block is not None and op.block.parent is not None and op.block.parent.name != "tt.func":
            take(op.block.parent)

    for op in ops:
        take(op)
        stack.extend(op.operands)
    while stack:
        v = stack.pop()
        if v in part.values or v in given:
            continue
        part.values.add(v)
        if stop(v):
            take(v.op)
            if v.op.name == "tt.dot" and not zero(v.op.operands[2]) and not product(v.op.operands[2]):
                stack.append(v.op.operands[2])
            continue
        if found := carried(v):
            loop, i = found
            take(loop)
            stack += [
                loop.operands[3 + i],
                loop.blocks[0].args[1 + i],
                loop.blocks[0].ops[-1].operands[i],
                loop.results[i],
            ]
        elif v.op is not None:
            take(v.op)
            if v.op.name == "scf.if":
                stack += [b.ops[-1].operands[v.op.results.index(v)] for b in v.op.blocks]
            elif v.op.name != "scf.for":
                stack.extend(v.op.operands)
    return part


def cube(func: Op, given: set[Value]) -> Part:
    """given: what the vector cores hand over."""
    dots = [op for op in func.walk() if op.name == "tt.dot"]
    start = [v for op in dots for v in op.operands[:2]]
    start += [op.operands[2] for op in dots if product(op.operands[2])]
    part = needs(start, [op for op in func.walk() if op.name == RETURNS], lambda v: False, given)
    part.ops.update(dots)
    for op in [*dots, *(v.op for v in given if v.op is not None)]:
        parent = op.block.parent
        while parent is not None and parent.name != "tt.func":
            part.ops.add(parent)
            more = needs(parent.operands[: 3 if parent.name == "scf.for" else 1], [], lambda v: False, given)
            part.ops |= more.ops
            part.values |= more.values
            parent = parent.block.parent
    return part


def vector(func: Op, given: list[Value]) -> Part:
    effects = [op for op in func.walk() if op.name in (*EFFECTS[:-2], RETURNS)]
    return needs(given, effects, handed)


def stored_alone(func: Op) -> bool:
    """Whether all products go to GM as they are, or narrowed: then FIXPIPE stores them, and there is no other store."""
    begins = (op.operands[2] for op in func.walk() if op.name == "tt.dot")
    if not all(zero(c) or product(c) for c in begins):  # a product that is added to a tile
        return False
    stores = [op for op in func.walk() if op.name in EFFECTS[:-2]]

    def straight(v: Value) -> bool:
        if handed(v):
            return True
        return v.op is not None and v.op.name in NARROWS and len(v.users) == 1 and handed(v.op.operands[0])

    return all(op.name == "tt.store" and straight(op.operands[1]) for op in stores) and not sent(func, set())


# ---- what the cores of a block hand to each other: each such tile has a space of its own in the block's GM workspace.
# Two flags go with it: the writer's, that the tile is whole, and the reader's, that it was read and the space is free.
# Each side waits and sets them in one order, so spaces may share a pair of flags (there are few): then the one before
# must have been read, whichever it was.

PRODUCTS, COMPUTED = ((0, 1), (2, 3), (4, 5), (6, 7)), ((8, 9), (10, 15))  # flags; 11 to 14 are SyncAll's


@dataclass(frozen=True)
class Space:
    """var: a GlobalTensor. at: bytes from the beginning of the block's workspace. whole, free: names of its flags."""

    var: str
    what: str
    elem: str
    high: int
    wide: int
    at: int
    whole: str
    free: str
    first: str
    flags: tuple[int, int]
    from_cube: bool

    @property
    def bytes(self) -> int:
        return self.high * self.wide * SIZE[self.elem]


def plan(products: Iterable[tuple[int, Value]], computed: Iterable[tuple[int, Value]]) -> list[tuple[int, Space]]:
    """A space for each value, with its number: a product may be handed over as it is, there and back."""
    spaces: list[tuple[int, Space]] = []
    at, taken = 0, {"space"}
    for from_cube, values, flags in ((True, list(products), PRODUCTS), (False, list(computed), COMPUTED)):
        for n, (number, v) in enumerate(values):
            name = base = f"{v.name or ('product' if from_cube else 'tile')}Space"
            again = 1
            while name in taken:
                again += 1
                name = f"{base}{again}"
            taken.add(name)
            pair = n % len(flags)
            end = "" if min(len(values), len(flags)) == 1 else str(pair)
            names = ("READY", "FREE", "unread") if from_cube else ("SENT", "TAKEN", "untaken")
            high, wide = v.shape
            space = Space(
                name, v.name or "a tile", v.elem, high, wide, at, *(f"{x}{end}" for x in names), flags[pair], from_cube
            )
            spaces.append((number, space))
            at += -(-space.bytes // 512) * 512
    return spaces


def size(spaces: list[Space]) -> int:
    return max((s.at + -(-s.bytes // 512) * 512 for s in spaces), default=0)


def names(spaces: list[Space]) -> list[str]:
    """What no other thing of the kernel may be called."""
    return [n for s in spaces for n in (s.var, s.whole, s.free, s.first)] + ["mine"]


def flags(spaces: list[Space]) -> list[str]:
    """Their numbers, as C++."""
    lines = []
    for from_cube, what in ((True, "a product is whole; the vector cores have read it"),
                            (False, "the vector cores' tile is whole; the cube core has read it")):  # fmt: skip
        pairs = {(s.whole, s.free, s.flags): None for s in spaces if s.from_cube == from_cube}
        lines += [
            f"constexpr uint16_t {whole} = {a}, {free} = {b};" + (f"  // {what}" if n == 0 else "")
            for n, (whole, free, (a, b)) in enumerate(pairs)
        ]
    return lines


def declared(spaces: list[Space]) -> list[str]:
    lines = []
    for s in spaces:
        way = "cube -> vector" if s.from_cube else "vector -> cube"
        lines.append(f"GlobalTensor<{C[s.elem]}> {s.var};  // {s.what} [{s.high}, {s.wide}], {way}")
    return lines


def places(spaces: list[Space], vectors: int) -> list[str]:
    """Where a block's spaces are. vectors: how many cores with numbers of their own share one; 1: GetBlockIdx's."""
    index = "GetBlockIdx()" if vectors == 1 else f"GetBlockIdx() / {vectors}"
    lines = [f"__gm__ uint8_t* mine = (__gm__ uint8_t*)workspace + static_cast<uint64_t>({index}) * {size(spaces)};"]
    return lines + [f"{s.var}.SetGlobalBuffer((__gm__ {C[s.elem]}*)(mine + {s.at}));" for s in spaces]


def begun(spaces: list[Space], from_cube: bool) -> list[str]:
    """The writer's: a flag was not waited for yet."""
    return [f"bool {first} = false;" for first in dict.fromkeys(s.first for s in _own(spaces, from_cube))]


def ended(spaces: list[Space], from_cube: bool) -> list[str]:
    """The writer waits for the last reader."""
    pairs = dict.fromkeys((s.first, s.free) for s in _own(spaces, from_cube))
    return [f"if ({first}) CrossCoreWaitFlag({free});" for first, free in pairs]


def before_writing(s: Space) -> list[str]:
    return [f"if ({s.first}) CrossCoreWaitFlag({s.free});", f"{s.first} = true;"]


def _own(spaces: list[Space], from_cube: bool) -> list[Space]:
    return [s for s in spaces if s.from_cube == from_cube]


# ---- the rows of a product over two vector cores, and over as many passes as UB asks for: where every tile behind a
# product is worked on row by row, the vector part is read again with fewer rows, from row0 on.

SAME = ("arith.constant", "tt.splat", "tt.make_range")  # known for any number of rows
WHOLE = ("tt.trans", "tt.reshape", "tt.make_tensor_ptr", "tt.advance", "tt.scan", "tt.gather", "tt.cat", "tt.join")


def separate(func: Op) -> None:
    """Each reader its own tl.arange: Triton makes one of those that count alike, rows and columns are two here."""
    for op in list(func.walk()):
        if op.name == "tt.make_range":
            for user in op.result.users[1:]:
                twin = replace(op, results=[], operands=[])
                twin.results.append(Value(op.result.type, op.result.name, twin, [user]))
                user.operands[user.operands.index(op.result)] = twin.result
                op.block.ops.insert(op.block.ops.index(op) + 1, twin)
            del op.result.users[1:]


def _together(op: Op, v: Value) -> list[Value] | None:
    """The values that have as many rows as v in this operation; None where rows do not stay apart."""
    if op.name in WHOLE:
        return None
    if op.name in ("scf.for", "scf.yield"):
        loop = op.block.parent if op.name == "scf.yield" else op
        if loop.name != "scf.for":
            return [r for r, x in zip(loop.results, op.operands) if x is v]
        # one value may begin several of a loop's, and be the next of several
        ways = zip(loop.operands[3:], loop.blocks[0].args[1:], loop.blocks[0].ops[-1].operands, loop.results)
        return [x for way in ways if any(v is x for x in way) for x in way]
    if op.name == "scf.if":
        i = op.results.index(v)
        return [b.ops[-1].operands[i] for b in op.blocks]
    if op.name == "tt.expand_dims":
        if op.int("axis") == 1:
            return [*op.operands, *op.results]
        return None
    if op.name == "tt.reduce":
        return [*op.operands, *op.results] if op.int("axis") == 1 else None
    if op.name == "tt.dot":  # its other operands go to GM as they are cut
        return [op.operands[2], *op.results] if v is op.operands[2] or v in op.results else []
    return [*op.operands, *op.results]


def by_rows(func: Op, part: Part) -> tuple[set[Value], int] | None:
    """(the values that have a product's rows, how many); None where the rows cannot be parted."""
    products = [v for v in part.values if handed(v)]
    if len({v.shape[0] for v in products}) != 1:
        return None
    tall, found, stack = products[0].shape[0], set(), list(products)
    while stack:
        v = stack.pop()
        if v in found or (v.op is not None and v.op.name in SAME and v.op.name != "tt.make_range"):
            continue
        if v.op is not None and v.op.name == "window":
            if parse(v.type)[1][0] != tall:
                return None
            found.add(v)
            continue
        if v.type.startswith("!tt.ptr<tensor"):
            return None
        if not v.shape or v.shape[0] == 1:
            continue
        if v.shape[0] != tall:
            return None
        found.add(v)
        makers = [] if v.op is None or handed(v) else [v.op]
        if v.op is not None and v.op.name == "tt.dot" and handed(v):  # a product that is added to a tile
            stack.append(v.op.operands[2])
        for op in [*makers, *(u for u in v.users if u in part.ops or u.name == "scf.yield")]:
            if op.name == "tt.broadcast" and op.operands[0].shape[0] != op.result.shape[0]:
                continue
            together = _together(op, v)
            if together is None:
                return None
            stack += together
        if v.op is None:  # what a loop hands on
            loop = next((u.block.parent for u in v.users), None)  # nobody reads it: each turn begins anew
            while loop is not None and not (loop.name == "scf.for" and v in loop.blocks[0].args):
                loop = loop.block.parent
            together = _together(loop, v) if loop is not None else None
            if together is None:
                return None
            stack += together
    return found, tall


def cut(values: set[Value], tall: int) -> None:
    """From now on they have so many rows."""
    for v in values:
        first = v.type.index("tensor<") + len("tensor<")
        v.type = v.type[:first] + str(tall) + v.type[v.type.index("x", first) :]
        if v.op is not None and v.op.name in ("tt.make_range", "window"):
            v.op.const = "row0"
