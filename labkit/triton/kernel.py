"""One kernel while it is lowered: its text, what each value is known as, and its places in UB.

A place is given out when a value is computed and given back behind the value's last use, to the very instruction that
uses it last where that may work in place. What comes from GM has a queue with two places, and what goes there too, so
that the next tile comes in while this one is computed; beyond four queues of a kind (there are no more events) a plain
buffer with events of its own is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sympy

from labkit import chips, messages
from labkit.triton import layout
from labkit.triton.access import behind_stores, straight
from labkit.triton.forms import BlockPointer, C, Index, Mask, Place, Pointer, Scalar, Text, Tile
from labkit.triton.index import cpp, symbol
from labkit.triton.refused import Refused, refuse, source_line, too_large
from labkit.triton.ttir import Block, Op, Value, parse

MOST_QUEUES = 4  # with two places each: there are eight events for a pair of pipes
SPARE = 1024
KEYWORDS = (
    "alignas alignof and_eq asm auto bitand bitor bool break case catch char char16_t char32_t class compl const "
    "const_cast constexpr continue decltype default delete do double dynamic_cast else enum explicit export extern "
    "false float for friend goto if inline int long mutable namespace new noexcept not_eq nullptr operator or_eq "
    "private protected public register reinterpret_cast return short signed sizeof static static_assert static_cast "
    "struct switch template this thread_local throw true try typedef typeid typename union unsigned using virtual void "
    "volatile wchar_t while xor xor_eq"
).split()
RESERVED = (*KEYWORDS, *"half pid0 pid1 pid2 grid0 grid1 grid2 program pipe n r".split(), *(f"i{d}" for d in range(16)))
RULES: dict[str, Callable] = {}
SILENT = {"arith.constant", "tt.make_range", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.addptr", "tt.reshape"}


def lowers(*names: str):
    """The function lowers operations of these names: it is called with (kernel, op)."""

    def note(f):
        RULES.update(dict.fromkeys(names, f))
        return f

    return note


class Kernel:
    def __init__(self, func: Op, wanted: set[Op] | None = None, needed: set[Value] | None = None):
        """wanted, needed: operations and values that this core has work for; None: all."""
        self.func, self.wanted, self.needed = func, wanted, needed
        self.rules = RULES
        self.most_queues = MOST_QUEUES
        self.as_tiles: set[Value] = set()  # integers that a loop hands on as tiles
        self.lines: list[str] = []
        self.depth = 2
        self.forms: dict[Value, object] = {}
        self.helpers: set[str] = set()
        self.shared: set[str] = set()  # helpers of labkit.codegen
        self.access: list[str] = []
        self.buffers: list[Place] = []
        self.queues: list[tuple[Place, str]] = []
        self.between: set[str] = set()  # kinds of queues between whose tensors pipes wait for each other
        self.free: list[Place] = []
        self.idle: list[Place] = []
        self.last: dict[Value, Op] = {}
        self.ending: dict[Op, list[Value]] = {}  # a loop or a branch -> what is used for the last time inside
        self.masks: list[set[str]] = []  # of each store the names and numbers in its mask
        self.sends: dict = {}  # of a kernel for both kinds of cores: values that it hands over
        self.dropped: set[Value] = set()
        self.pending: dict[Value, float] = {}  # has the form of an operand: this factor is still to come
        self.carried: dict[Value, Tile] = {}  # a value that a loop hands on -> where it shall lie
        self.counts: list[dict[str, str]] = [{}]
        self.shown: tuple[str, int] = ("", 0)
        self.op: Op | None = None
        self.casts: set[tuple[str, str]] = set()  # (argument, type) that GM is also read or written as
        self.again = behind_stores(func)  # loads that wait for stores
        self.stores: list = []  # (access, numbers of the loops around it) of each store so far
        self.asked: list[set[str]] = []  # of each effect the conditions of the whole program that it hangs on
        self.given: set[str] = set()  # integers among the arguments
        self.held: frozenset[str] = frozenset()  # of these, what holds in every program that is run
        self.alone = False  # whether all programs run on one core, one after the other
        self.used = 0  # bytes of UB, once homes() has counted them
        self._taken: dict[str, int] = dict.fromkeys(RESERVED, 1)
        self._lifetimes(func.blocks[0])

    # ---- text

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        self.emit(head + " {")
        self.depth += 1
        self.counts.append({})
        yield
        self.counts.pop()
        self.depth -= 1
        self.emit("}")

    def fresh(self, hint: str) -> str:
        hint = "".join(c if c.isalnum() else "_" for c in hint) or "t"
        while True:
            n = self._taken.get(hint, 0)
            self._taken[hint] = n + 1
            if not n:
                return hint
            if f"{hint}_{n}" not in self._taken:
                self._taken[f"{hint}_{n}"] = 1
                return f"{hint}_{n}"

    def sync(self, event: str) -> None:
        self.helpers.add("Sync")
        kind = {"V_MTE2": "in", "MTE3_V": "out"}.get(event)
        if kind and not any(p.kind == kind and p not in self.idle for p, _ in self.queues):
            self.between.add(kind)
        self.emit(f"Sync<HardEvent::{event}>();")

    def count(self, expr: str) -> str:
        """A name for a number that several lines need."""
        for scope in self.counts:
            if expr in scope:
                return scope[expr]
        name = self.counts[-1][expr] = self.fresh("count")
        self.emit(f"const int32_t {name} = {expr};")
        return name

    def named(self, expr, hint: str, elem: str = "i32"):
        """An index of the scalar unit under a name of its own."""
        name = self.fresh(hint)
        self.emit(f"const {C[elem]} {name} = {cpp(expr)};")
        return symbol(name)

    def comment(self, op: Op) -> None:
        if op.line and op.name not in SILENT and not op.early and (op.file, op.line) != self.shown:
            self.shown = (op.file, op.line)
            text = source_line(op.file, op.line).rstrip(" \\")  # a backslash would take the next line along
            self.emit(f"// {op.line}: {text}".rstrip())

    # ---- lifetimes

    def _lifetimes(self, block: Block) -> None:
        position = {op: i for i, op in enumerate(block.ops)}
        for v in [*block.args, *(r for op in block.ops for r in op.results)]:
            users = []
            for user in v.users:
                if self.wanted is not None and user not in self.wanted and user.name != "scf.yield":
                    continue
                while user.block is not block:
                    user = user.block.parent
                users.append(user)
            if users:
                self.last[v] = max(users, key=position.__getitem__)
                if self.last[v].blocks:
                    self.ending.setdefault(self.last[v], []).append(v)
        for op in block.ops:
            for inner in op.blocks:
                self._lifetimes(inner)

    def drop(self, v: Value) -> None:
        form = self.forms.get(v)
        if not isinstance(form, Tile) or v in self.dropped:
            return
        self.dropped.add(v)
        form.place.held -= 1
        if form.place.held == 0:
            if form.place.kind == "in":
                self.emit(f"{form.place.name}.FreeTensor({form.var});")
                self.idle.append(form.place)
            elif form.place.kind == "buf":
                self.free.append(form.place)

    def release(self, op: Op, kinds: tuple[str, ...] = ("buf", "in")) -> None:
        """Gives back what is used for the last time."""
        for v in dict.fromkeys([*op.operands, *self.ending.get(op, ())]):
            form = self.forms.get(v)
            if self.last.get(v) is op and isinstance(form, Tile) and form.place.kind in (*kinds, "kept"):
                self.drop(v)

    def keep(self, v: Value, form) -> None:
        self.forms[v] = form
        if isinstance(form, Tile):
            form.place.held += 1
            if v not in self.last and v not in self.sends:
                self.drop(v)

    # ---- places

    def tensor(self, place: Place, elem: str, hint: str) -> str:
        var = self.fresh(hint)
        how = f"AllocTensor<{C[elem]}>" if place.kind in ("in", "out") else f"Get<{C[elem]}>"
        self.emit(f"LocalTensor<{C[elem]}> {var} = {place.name}.{how}();")
        return var

    def buffer(self, elem: str, stored: tuple[int, ...], hint: str, least: int = 0) -> Tile:
        size = max(layout.size(stored, elem), least)
        fitting = [p for p in self.free if size <= p.bytes <= 2 * size]
        if fitting:
            place = min(reversed(fitting), key=lambda p: p.bytes)
            self.free.remove(place)
        else:
            place = Place("buf", self.fresh("ub"), size)
            self.buffers.append(place)
        return Tile(self.tensor(place, elem, hint), elem, tuple(stored), place)

    @contextmanager
    def scratch(self, elem: str, stored: tuple[int, ...], hint: str, least: int = 0) -> Iterator[Tile]:
        tile = self.buffer(elem, stored, hint, least)
        yield tile
        self.done(tile)

    def done(self, tile: Tile) -> None:
        """Gives a place back that no value holds."""
        if tile.place.kind == "buf" and tile.place.held == 0 and tile.place not in self.free:
            self.free.append(tile.place)

    def queue(self, kind: str, size: int, hint: str) -> Place | None:
        for place in self.idle:
            if (place.kind, place.bytes) == (kind, size):
                self.idle.remove(place)
                return place
        if sum(p.kind == kind for p, _ in self.queues) >= self.most_queues:
            return None
        place = Place(kind, self.fresh(hint), size)
        self.queues.append((place, kind))
        return place

    def out(self, elem: str, stored: tuple[int, ...], hint: str) -> Tile:
        """A place on the way to GM."""
        place = self.queue("out", layout.size(stored, elem), hint + "Out")
        if place is None:
            return self.buffer(elem, stored, hint)
        return Tile(self.tensor(place, elem, hint), elem, tuple(stored), place)

    def result(self, v: Value, elem: str, stored: tuple[int, ...]) -> Tile:
        """Where a value goes: on its way to GM where a store is all that uses it, into a loop's own place, or anew."""
        stored, hint = tuple(stored), v.name or "t"
        slot = self.carried.get(v)
        if slot is not None and slot.place.held == 0 and (slot.elem, slot.stored) == (elem, stored):
            return slot
        if self.leaves(v) and stored == v.shape and elem == v.elem:
            return self.out(elem, stored, hint)
        return self.buffer(elem, stored, hint)

    def leaves(self, v: Value) -> bool:
        user = v.users[0] if len(v.users) == 1 else None
        return (
            user is not None
            and user.name == "tt.store"
            and v.op is not None
            and user.block is v.op.block
            and user.operands[0] in self.forms
            and straight(self.forms, user)
        )

    def hold_in_loop(self, v: Value, t: Tile) -> None:
        """A loop's own place: free for the value that it becomes once its last reader is done."""
        t.place.held = 1
        self.dropped.discard(v)

    # ---- operations

    def block(self, ops: list[Op]) -> None:
        for op in ops:
            if self.wanted is not None and op not in self.wanted:
                continue
            rule = self.rules.get(op.name)
            if rule is None:
                raise refuse(op, op.name.replace("tt.", "tl.").replace("math.", "tl.math."))
            self.comment(op)
            self.op = op
            rule(self, op)
            self.behind(op)

    def behind(self, op: Op) -> None:
        """What follows an operation."""
        self.release(op)

    def refuse(self, what: str, hint: str = "") -> Refused:
        return refuse(self.op, what, hint)

    # ---- the whole

    def arguments(self) -> list[str]:
        """Declares them as forms; their C++."""
        params, described = [], []
        for i, v in enumerate(self.func.blocks[0].args):
            name = self.fresh(v.name or f"arg{i}")
            if v.type.startswith("!tt.ptr<"):
                elem = v.type[8:-1].split(",")[0]
                params.append(f"GM_ADDR {name}")
                self.forms[v] = Pointer(name, sympy.Integer(0), elem)
            elif v.type.startswith("!tt.tensordesc<"):
                described.append((v, name))
                params.append(f"GM_ADDR {name}")
            elif v.elem == "i1":
                params.append(f"int32_t {name}")
                self.forms[v] = Mask((Text(f"{name} != 0"),))
            elif v.elem in C:
                params.append(f"{C[v.elem]} {name}")
                self.forms[v] = Index(symbol(name), v.elem) if v.elem[0] == "i" else Scalar(name, v.elem)
                self.given |= {name} if v.elem[0] == "i" else set()
            else:
                raise refuse(None, f"an argument of type {v.type}")
        args = list(self.func.blocks[0].args)
        for v, name in described:  # Triton passes its sizes and strides behind it
            _, shape, elem = parse(v.type)
            at, n = args.index(v) + 1, len(shape)
            rest = [self.forms[x].expr for x in args[at : at + 2 * n]]
            self.forms[v] = BlockPointer(
                name, sympy.Integer(0), tuple(rest[:n]), (*rest[n : 2 * n - 1], sympy.Integer(1)),
                (sympy.Integer(0),) * n, elem, shape,
            )  # fmt: skip
        return params

    def globals(self) -> list[str]:
        lines = []
        for v in self.func.blocks[0].args:
            if isinstance(form := self.forms[v], (Pointer, BlockPointer)):
                c = "int8_t" if form.elem == "i1" else C[form.elem]
                lines += [f"GlobalTensor<{c}> {form.arg}Gm;", f"{form.arg}Gm.SetGlobalBuffer((__gm__ {c}*){form.arg});"]
        for arg, elem in sorted(self.casts):
            name = f"{arg}As{elem.capitalize()}Gm"
            lines += [f"GlobalTensor<{C[elem]}> {name};", f"{name}.SetGlobalBuffer((__gm__ {C[elem]}*){arg});"]
        return lines

    def homes(self) -> list[str]:
        """TPipe and what lies in UB. Raises Refused where that is more than there is."""
        memory = chips.load(chips.chosen())["memory"]
        most = memory["ub"] - memory["ub_reserved"] - SPARE
        buffers = sum(p.bytes for p in self.buffers)
        slots = next((n for n in (2, 1) if buffers + n * sum(p.bytes for p, _ in self.queues) <= most), 0)
        if not slots:
            needed = buffers + sum(p.bytes for p, _ in self.queues)
            raise too_large(messages.text("triton.ub", name=self.func.str("sym_name"), bytes=needed, ub=most))
        self.used = buffers + slots * sum(p.bytes for p, _ in self.queues)
        lines = ["TPipe pipe;"]
        for p, kind in self.queues:
            every = [q for q, other in self.queues if other == kind]
            last = kind in self.between and len(every) == MOST_QUEUES and p is every[-1]
            lines += [f"TQue<TPosition::VEC{kind.upper()}, 1> {p.name};"]
            lines += [f"pipe.InitBuffer({p.name}, {1 if last else slots}, {p.bytes});"]  # it leaves one of 8 events
        for p in self.buffers:
            lines += [f"TBuf<TPosition::VECCALC> {p.name};", f"pipe.InitBuffer({p.name}, {p.bytes});"]
        return lines
