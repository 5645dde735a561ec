"""A kernel for both kinds of cores: products go from the cube core to its block's two vector cores through GM, and what
they make of them, where it is multiplied again, back."""

from __future__ import annotations

import sympy

from labkit.triton import control, layout, split
from labkit.triton.access import behind_stores
from labkit.triton.cube import Computed, CubeKernel, behind_the_end
from labkit.triton.forms import C, Index, Tile
from labkit.triton.index import LANES, symbol
from labkit.triton.kernel import RULES, Kernel
from labkit.triton.refused import Refused
from labkit.triton.scalars import make_range
from labkit.triton.split import Space, accumulator, handed, product, zero
from labkit.triton.tiles import tile
from labkit.triton.tiles import zero as nothing
from labkit.triton.ttir import Op, Value

MOST_PASSES = 16


class VectorKernel(Kernel):
    def __init__(self, func: Op, part: split.Part, spaces: list[tuple[Value, Space]], passes: int, whole: set):
        """spaces: of what is handed over; passes: of each vector core, over rows; whole: values of which each of two
        vector cores has all rows."""
        super().__init__(func, part.ops, part.values)
        self.passes, self.whole = passes, whole
        self.comes = {v: s for v, s in spaces if s.from_cube}
        self.sends = {v: s for v, s in spaces if not s.from_cube}
        self.rules = {**RULES, "tt.dot": dot, "scf.for": loop, "tt.make_range": rows}

    def block(self, ops: list[Op]) -> None:
        for v in ops[0].block.args if ops else ():
            if v in self.sends:
                send(self, v)
        super().block(ops)

    def behind(self, op: Op) -> None:
        for v in op.results:
            if v in self.sends:
                send(self, v)
        super().behind(op)


def rows(k: VectorKernel, op: Op) -> None:
    make_range(k, op)
    if op.const == "row0":
        start = op.int("start")
        k.forms[op.result] = Index(LANES[0] + sympy.Integer(start) + symbol("row0"))


def send(k: VectorKernel, v: Value) -> None:
    """A tile, or this core's rows of it, to the cube core."""
    s, form = k.sends[v], k.forms[v]
    (tall, wide), pitch = v.shape, layout.pitch(v.shape)
    t = tile(k, form, v.shape, v.elem)
    space, of = f"{s.var}[row0 * {wide}]", t.var
    if v in k.whole:  # both cores have all of it: each hands over a half
        tall //= 2
        space, of = f"{s.var}[GetSubBlockIdx() * {tall * wide}]", f"{of}[GetSubBlockIdx() * {tall * pitch}]"
    k.helpers.add("Rows")
    k.sync("V_MTE3")
    for line in split.before_writing(s):
        k.emit(line)
    k.emit(f"DataCopyPad({space}, {of}, RowsOut<{C[v.elem]}>({tall}, {wide}, {wide}, {pitch}));")
    k.emit(f"CrossCoreSetFlag<0x2, PIPE_MTE3>({s.whole});")
    k.sync("MTE3_V")
    if t is not form and not (isinstance(form, Tile) and t.place is form.place):
        k.done(t)
    if v not in k.last:
        k.drop(v)


def receive(k: VectorKernel, v: Value) -> Tile:
    """A product, or this pass's rows of it, from the workspace."""
    tall, wide = v.shape
    s, c = k.comes[v], C[v.elem]
    made = k.buffer(v.elem, v.shape, v.name or "product")
    once, last = ("if (strip < 2) ", f"if (strip + 2 >= {2 * k.passes}) ") if k.passes > 1 else ("", "")
    k.emit(f"{once}CrossCoreWaitFlag({s.whole});")
    k.sync("V_MTE2")
    pitch, fill = layout.pitch(v.shape), nothing(v.elem)
    if pitch != wide:
        k.emit(f"Duplicate({made.var}, {fill}, {layout.count(v.shape)});")
        k.sync("V_MTE2")
    k.helpers.add("Rows")
    k.emit(
        f"DataCopyPad({made.var}, {s.var}[row0 * {wide}], RowsIn<{c}>({tall}, {wide}, {wide}, {pitch}), "
        f"Behind<{c}>({wide}, {fill}));"
    )
    k.sync("MTE2_V")
    k.emit(f"{last}CrossCoreSetFlag<0x2, PIPE_MTE2>({s.free});")
    return made


def dot(k: VectorKernel, op: Op) -> None:
    v, c = op.result, op.operands[2]
    made = receive(k, v)
    if not zero(c) and not product(c):
        before = tile(k, k.forms[c], v.shape, v.elem)
        k.release(op, ("buf",))
        to = k.result(v, v.elem, v.shape)
        k.emit(f"Add({to.var}, {made.var}, {before.var}, {layout.count(v.shape)});")
        k.done(made)
        if before is not k.forms[c]:
            k.done(before)
        made = to
    k.keep(v, made)


def loop(k: VectorKernel, op: Op) -> None:
    sums = {i for i in range(len(op.results)) if accumulator(op, i)}
    if any(inner in k.wanted for inner in op.walk()):
        control.loop(k, op, skip=sums)
    for i in sums:
        if op.results[i] in k.needed and handed(op.results[i]):
            k.keep(op.results[i], receive(k, op.results[i]))


def in_loops(part: split.Part) -> bool:
    """Whether products are handed over more than once for a program."""
    return any(handed(v) and v.op.block.parent.name != "tt.func" for v in part.values)


class Pair:
    """Both parts of a kernel. read: gives the kernel's tt.func, a new one at each call."""

    def __init__(self, read):
        self.read, self.computed = read, set()
        while True:
            func = read()
            try:
                self.cube = self._cube(func)
            except Computed as found:  # the cube core has no copy for it: the vector cores bring it
                self.computed.add(split.values(func).index(found.value))
                continue
            self.vector, self.vectors = self._vector()
            again = behind_the_end(self.cube, self.cube.masks + self.vector.masks)
            if not again:
                break
            self.computed |= {split.values(func).index(v) for v in again}

    def _sent(self, func: Op) -> tuple[list[Value], list[Value]]:
        every = split.values(func)
        return every, split.sent(func, {every[n] for n in self.computed})

    def _cube(self, func: Op) -> CubeKernel:
        every, given = self._sent(func)
        number = {v: n for n, v in enumerate(every)}
        part = split.vector(func, given)
        products = [v for v in every if v in part.values and handed(v)]
        self.planned = split.plan([(number[v], v) for v in products], [(number[v], v) for v in given])
        self.spaces = [s for _, s in self.planned]
        k = CubeKernel(func, split.cube(func, set(given)), [(every[n], s) for n, s in self.planned])
        k.arguments()
        for name in split.names(self.spaces):
            k.fresh(name)
        k.block(func.blocks[0].ops)
        return k

    def _vector(self) -> tuple[VectorKernel, int]:
        """(the lowered kernel, vector cores of a block)."""
        passes, split_rows, queues = 1, True, None
        while True:
            func = self.read()
            every, given = self._sent(func)
            spaces = [(every[n], s) for n, s in self.planned]
            split.separate(func)
            part = split.vector(func, given)
            found = split.by_rows(func, part) if split_rows else None
            if found and any(op.result not in found[0] for op in behind_stores(func) if op in part.ops):
                found = None  # a vector core would read what the other one has stored
            if found is None or found[1] < 2 * passes:
                split_rows, found = False, None
            else:
                split.cut(found[0], found[1] // (2 * passes))
            whole = {v for v in given if v not in found[0]} if found else set()
            k = VectorKernel(func, part, spaces, passes if found else 1, whole)
            k.most_queues = k.most_queues if queues is None else queues
            k.arguments()
            for name in ("row0", "strip", *split.names(self.spaces)):
                k.fresh(name)
            if found:
                k.depth += 1
            k.block(func.blocks[0].ops)
            try:
                k.homes()
            except Refused:
                if found and passes < MOST_PASSES and not in_loops(part) and not given:
                    passes *= 2
                elif queues is None:  # with places that loads and stores share with all else
                    queues = 0
                else:
                    raise
                continue
            if not found:
                return k, 1
            tall = found[1] // (2 * passes)
            head = f"        for (int32_t strip = GetSubBlockIdx(); strip < {2 * passes}; strip += 2) {{"
            k.lines = [head, f"            const int32_t row0 = strip * {tall};", *k.lines, "        }"]
            return k, 2
