"""A kernel's tiles with other sides than the author's, before it is lowered: turned, and without lanes.

Turned, columns first: lanes of the last dimension should be neighbours in GM. Inductor always reduces along the last
one, so that the sum of a matrix's columns reads lanes that lie a row apart. Nothing but shapes and axes names a
dimension: swapped everywhere, the kernel computes the same.

Trimmed: Triton's tiles have powers of two for sides, so a row of 3,072 numbers takes 4,096 lanes, of which the last
1,024 are masked off in each store and hold a reduction's neutral number where it sums. Here a row may have any multiple
of 64 lanes. Where nothing but such masks keeps the last lanes of a dimension apart, it ends with the last one that
counts.
"""

from __future__ import annotations

import math
import re

from labkit.triton.layout import wide_dims
from labkit.triton.reduce import combiner
from labkit.triton.ttir import Op, Value

AXIS = ("tt.expand_dims", "tt.reduce")
ANY_ORDER = (
    "tt.addptr", "tt.broadcast", "tt.splat", "tt.load", "tt.store", "tt.make_range", "tt.get_program_id",
    "tt.get_num_programs", "tt.bitcast", "tt.clampf", "tt.precise_divf", "tt.precise_sqrt", "tt.fp_to_fp",
    "tt.int_to_ptr", "tt.ptr_to_int", "tt.extern_elementwise", "tt.mulhiui", "tt.return", "tt.reduce.return", "tt.func",
    "tt.atomic_rmw", "tt.atomic_cas", "tt.assert",
)  # fmt: skip


class _Axis:
    """An operation's handle, with the other axis."""

    def __init__(self, handle):
        self.handle = handle

    def get_int_attr(self, name: str):
        value = self.handle.get_int_attr(name)
        return 1 - value if name == "axis" and value is not None else value

    def __getattr__(self, name: str):
        return getattr(self.handle, name)


def values(func: Op) -> list[Value]:
    made = [v for b in func.blocks for v in b.args]
    for op in func.walk():
        made += [*op.results, *(v for b in op.blocks for v in b.args)]
    return made


def can_turn(func: Op) -> bool:
    """Whether every operation is one that no order of dimensions matters to."""
    ranks = {len(v.shape) for v in values(func)}
    return 2 in ranks and max(ranks) == 2 and all(
        op.name in (*AXIS, *ANY_ORDER) or op.name.startswith(("arith.", "math.", "scf.")) for op in func.walk()
    )  # fmt: skip


def turn(func: Op) -> Op:
    """Changes the kernel itself."""
    for op in func.walk():
        of = op.result if op.name == "tt.expand_dims" else op.operands[0] if op.name == "tt.reduce" else None
        if of is not None and len(of.shape) == 2:
            op.handle = _Axis(op.handle)
    for v in values(func):
        v.type = re.sub(r"^tensor<(\d+)x(\d+)x(?!\d+x)", r"tensor<\2x\1x", v.type)
    return func


# ---- without the lanes that masks leave out everywhere

LINE = 64  # lanes that a row has a multiple of
LANE_BY_LANE = (
    "tt.addptr", "tt.load", "tt.store", "tt.bitcast", "tt.clampf", "tt.precise_divf", "tt.precise_sqrt",
    "tt.fp_to_fp", "tt.extern_elementwise", "tt.mulhiui",
)  # fmt: skip
BELOW = {2: 0, 3: 1, 6: 0, 7: 1}  # predicates of arith.cmpi: what is added to the right side
ABOVE = {4: 0, 5: 1, 8: 0, 9: 1}
NEUTRAL = {"Sum": 0.0, "Max": -math.inf, "Min": math.inf}
Side = tuple[Value, int]


class Sides:
    """Which sides of which tiles are the same dimension of the kernel."""

    def __init__(self, func: Op):
        self.up: dict[Side, Side] = {}
        self.held: set[Side] = set()  # their lanes mix in ways that are not looked into
        self.ends: list[tuple[Side, int | None]] = []  # where lanes leave: how many of them count, if that is known
        for op in func.walk():
            self._take(op)
        for op in func.walk():
            self._leave(op)
        for v in values(func):
            dims = wide_dims(v.shape)
            self.held |= {(v, d) for d in dims[:-1]}
        for op in func.walk():
            self.held |= {(v, d) for b in op.blocks for v in b.args for d in range(len(v.shape))}

    def of(self, side: Side) -> Side:
        while side in self.up:
            side = self.up[side]
        return side

    def join(self, a: Side, b: Side) -> None:
        a, b = self.of(a), self.of(b)
        if a != b:
            self.up[a] = b

    def _take(self, op: Op) -> None:
        tiles = [v for v in (*op.operands, *op.results) if v.shape]
        if op.name == "arith.constant" or op.name == "tt.splat":
            return
        if op.name == "tt.make_range":
            if op.int("start") != 0:
                self.held.add((op.result, 0))
        elif op.name == "tt.expand_dims":
            for d in range(len(op.operands[0].shape)):
                self.join((op.operands[0], d), (op.result, d + (d >= op.int("axis"))))
        elif op.name == "tt.reduce" and len(op.operands) == 1 and op.operands[0].elem in ("f32", "f16", "bf16"):
            for d in range(len(op.result.shape)):
                self.join((op.result, d), (op.operands[0], d + (d >= op.int("axis"))))
        elif op.name == "tt.broadcast" or self._by_lanes(op):
            for v in tiles[1:]:
                for d, (n, m) in enumerate(zip(v.shape, tiles[0].shape)):
                    if n == m:
                        self.join((v, d), (tiles[0], d))
        else:
            self.held |= {(v, d) for v in tiles for d in range(len(v.shape))}

    def _by_lanes(self, op: Op) -> bool:
        if op.name == "tt.extern_elementwise" and "sort" in op.str("symbol"):
            return False
        return op.name in LANE_BY_LANE or op.name.startswith(("arith.", "math."))

    def _leave(self, op: Op) -> None:
        if op.name == "tt.store":
            v, mask = op.operands[1], op.operands[2] if len(op.operands) > 2 else None
            self.ends += [((v, d), self.first(mask, (v, d))) for d, n in enumerate(v.shape) if n > 1]
        elif op.name == "tt.reduce":
            side, kind = (op.operands[0], op.int("axis")), combiner(op.blocks[0])
            chosen = op.operands[0].op
            known = None
            if chosen is not None and chosen.name == "arith.select" and len(op.operands) == 1:
                rest = chosen.operands[2].op
                if rest is not None and rest.name == "arith.constant" and rest.const == NEUTRAL.get(kind):
                    known = self.first(chosen.operands[0], side)
            self.ends.append((side, known))

    def first(self, mask: Value | None, side: Side) -> int | None:
        """How many lanes of a side a mask lets count at most, where that is a number."""
        op = mask.op if mask is not None else None
        if op is None:
            return None
        if op.name == "arith.andi":
            found = [n for n in (self.first(v, side) for v in op.operands) if n is not None]
            return min(found, default=None)
        if op.name in ("tt.broadcast", "tt.expand_dims"):
            return self.first(op.operands[0], side)
        if op.name != "arith.cmpi":
            return None
        (a, b), sign = op.operands, op.int("predicate")
        if sign in ABOVE:
            a, b = b, a
        more = BELOW.get(sign, ABOVE.get(sign))
        limit = _number(b)
        return limit + more if more is not None and limit is not None and self._counts(a, side) else None

    def _counts(self, v: Value, side: Side) -> bool:
        """Whether a value is the number of its lane along a side."""
        while v.op is not None and v.op.name in ("tt.broadcast", "tt.expand_dims"):
            v = v.op.operands[0]
        return v.op is not None and v.op.name == "tt.make_range" and self.of((v, 0)) == self.of(side)


def _number(v: Value) -> int | None:
    while v.op is not None and v.op.name in ("tt.broadcast", "tt.splat", "tt.expand_dims"):
        v = v.op.operands[0]
    return v.op.const if v.op is not None and v.op.name == "arith.constant" and isinstance(v.op.const, int) else None


def trim(func: Op) -> Op:
    """Changes the kernel itself."""
    sides = Sides(func)
    held = {sides.of(s) for s in sides.held}
    counted: dict[Side, list[int | None]] = {}
    for side, n in sides.ends:
        counted.setdefault(sides.of(side), []).append(n)
    lanes = {
        side: -(-max(found) // LINE) * LINE
        for side, found in counted.items()
        if side not in held and None not in found and max(found) > 0
    }
    for v in values(func):
        shape = v.shape
        now = [min(n, lanes.get(sides.of((v, d)), n)) if n > 1 else n for d, n in enumerate(shape)]
        if tuple(now) != shape:
            v.type = re.sub(r"^tensor<(?:\d+x)+", "tensor<" + "".join(f"{n}x" for n in now), v.type)
    return func
