"""Which operations the cube core works on and which the vector cores do: the same kernel, read twice.

The cube needs what its products are made of; the vector cores what is stored. Where a vector core needs a product, it
is handed over, and so is what a vector core computed and a product is made of. Both run the loops and branches around
what they need, so both come by all that is handed over in one order.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from labkit.triton.ttir import Op, Value

EFFECTS = ("tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.print", "tt.return", "scf.yield")
NARROWS = ("arith.truncf", "tt.fp_to_fp")


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
    inner = carried(last) if last.op is not None and last.op.name == "scf.for" else None
    made = last.op is not None and (last.op.name == "tt.dot" or (inner is not None and accumulator(*inner)))
    return (
        (zero(begins) or product(begins))
        and made
        and len(arg.users) == 1
        and (
            (arg.users[0].name == "tt.dot" and arg.users[0].operands[2] is arg)
            or (arg.users[0].name == "scf.for" and accumulator(arg.users[0], arg.users[0].operands.index(arg, 3) - 3))
        )
        and (len(last.users) == 1)
    )


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
        elif op.name == "scf.if":
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
    part = needs(start, [], lambda v: False, given)
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
    effects = [op for op in func.walk() if op.name in EFFECTS[:-2]]
    return needs(given, effects, handed)


def stored_alone(func: Op) -> bool:
    """Whether all products go to GM as they are, or narrowed: then FIXPIPE stores them, and there is no other store."""
    stores = [op for op in func.walk() if op.name in EFFECTS[:-2]]

    def straight(v: Value) -> bool:
        if handed(v):
            return True
        return v.op is not None and v.op.name in NARROWS and len(v.users) == 1 and handed(v.op.operands[0])

    return all(op.name == "tt.store" and straight(op.operands[1]) for op in stores) and not sent(func, set())
