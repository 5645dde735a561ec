"""A kernel for both kinds of cores: the cube core hands each product to its block's two vector cores through GM."""

from __future__ import annotations

import sympy

from labkit.triton import control, layout, split, strips
from labkit.triton.cube import CubeKernel
from labkit.triton.forms import Index, Tile
from labkit.triton.index import LANES, symbol
from labkit.triton.kernel import RULES, Kernel
from labkit.triton.refused import Refused
from labkit.triton.scalars import make_range
from labkit.triton.split import accumulator, handed, product, zero
from labkit.triton.tiles import tile
from labkit.triton.ttir import Op, Value

MOST_PASSES = 16


class VectorKernel(Kernel):
    def __init__(self, func: Op, part: split.Part, spaces: list[int], passes: int):
        """spaces: of the products in their order, places in the workspace; passes: of each vector core, over rows."""
        super().__init__(func, part.ops, part.values)
        self.spaces, self.passes = iter(spaces), passes
        self.rules = {**RULES, "tt.dot": dot, "scf.for": loop, "tt.make_range": rows}


def rows(k: VectorKernel, op: Op) -> None:
    make_range(k, op)
    if op.const == "row0":
        start = op.int("start")
        k.forms[op.result] = Index(LANES[0] + sympy.Integer(start) + symbol("row0"))


def receive(k: VectorKernel, v: Value) -> Tile:
    """A product, or this pass's rows of it, from the workspace."""
    tall, wide = v.shape
    made = k.buffer("f32", v.shape, v.name or "product")
    once, last = ("if (strip < 2) ", f"if (strip + 2 >= {2 * k.passes}) ") if k.passes > 1 else ("", "")
    k.emit(f"{once}CrossCoreWaitFlag(READY);")
    k.sync("V_MTE2")
    if layout.pitch(v.shape) != wide:
        k.emit(f"Duplicate({made.var}, 0.0f, {layout.count(v.shape)});")
        k.sync("V_MTE2")
    k.helpers.add("Rows")
    pitch, at = layout.pitch(v.shape), next(k.spaces) // 4
    k.emit(
        f"DataCopyPad({made.var}, space[{at} + row0 * {wide}], RowsIn<float>({tall}, {wide}, {wide}, {pitch}), "
        f"Behind<float>({wide}, 0.0f));"
    )
    k.sync("MTE2_V")
    k.emit(f"{last}CrossCoreSetFlag<0x2, PIPE_MTE2>(FREE);")
    return made


def dot(k: VectorKernel, op: Op) -> None:
    v, c = op.result, op.operands[2]
    made = receive(k, v)
    if not zero(c) and not product(c):
        before = tile(k, k.forms[c], v.shape, "f32")
        k.emit(f"Add({made.var}, {made.var}, {before.var}, {layout.count(v.shape)});")
        if before is not k.forms[c]:
            k.done(before)
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


def vector_part(read, spaces: list[int]) -> tuple[VectorKernel, int]:
    """(the lowered kernel, vector cores of a block)."""
    passes, split_rows = 1, True
    while True:
        func = read()
        strips.separate(func)
        part = split.vector(func)
        found = strips.by_rows(func, part) if split_rows else None
        if found is None or found[1] < 2 * passes:
            split_rows = False
        else:
            strips.cut(found[0], found[1] // (2 * passes))
        k = VectorKernel(func, part, spaces, passes if found else 1)
        k.arguments()
        k.fresh("row0"), k.fresh("strip"), k.fresh("space"), k.fresh("first")
        if found:
            k.depth += 1
        k.block(func.blocks[0].ops)
        try:
            k.homes()
        except Refused:
            if not found or passes == MOST_PASSES or in_loops(part):
                raise
            passes *= 2
            continue
        if not found:
            return k, 1
        tall = found[1] // (2 * passes)
        head = f"        for (int32_t strip = GetSubBlockIdx(); strip < {2 * passes}; strip += 2) {{"
        k.lines = [head, f"            const int32_t row0 = strip * {tall};", *k.lines, "        }"]
        return k, 2


def cube_part(read) -> CubeKernel:
    func = read()
    k = CubeKernel(func, split.cube(func), alone=False)
    k.arguments()
    k.fresh("space"), k.fresh("first")
    k.block(func.blocks[0].ops)
    return k
