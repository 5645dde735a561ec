"""The space of a generated kernel: its program, places in UB, order of tiles, cores, and how long a tile is.

    blocks   cores
    turns    tiles of each core: they come out even, so that no core waits for another
    pieces   parts of a row, where rows are cut
    slots    2: the next tile comes in while one is computed; 1: tiles may be twice as long
    order    in which cores take tiles: "across" a row of tiles first, or "down" a column of them
    program  "rows", "pieces" or "wide", where the function may become more than one

A parameter with one value is left out. Two candidates that cut alike count once.
"""

from __future__ import annotations

import math
from dataclasses import replace

from labkit import chips, messages
from labkit.codegen import PIECES, ROWS, WIDE, Plan, Refused, clock, tiling
from labkit.codegen.ir import SIZES
from labkit.codegen.places import ORDERS, SLOTS, pitch, up
from labkit.codegen.tiling import Cut, Geometry, Way
from labkit.fusion.fused import FusedKernel
from labkit.tuning import clock as clocks
from labkit.tuning.problem import Point, Problem

TURNS = sorted(2**i for i in range(14)) + sorted(3 * 2**i for i in range(12))
PIECES_OF_A_ROW = (1, 2, 4, 8, 16, 32, 64)
LEAST_PIECE = 256  # elements
SHORTEST = 8  # tiles are no shorter than that part of the longest possible one
CORES = (1 / 12, 1 / 6, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 5 / 6, 1)  # shares of all that there are, and 1, 2


def generated(kernel: FusedKernel, *tensors, name: str | None = None) -> Problem:
    """Of the example's sizes, or of those of `tensors` (on any device). Raises Refused where no program fits."""
    space = _Space(kernel, tensors)
    parameters = space.parameters()
    return Problem(
        name or kernel.name,
        parameters,
        clocks.guarded(space.run),
        space.refuse,
        space.predict,
        space.start,
        clocks.kind(),
        clocks.about(kernel.chip, kernel.source, space.sizes),
        space.apply,
        [{n: v for n, v in zip(space.names, k) if n not in space.fixed} for k in space.ways],
        space.features,
    )


class _Space:
    def __init__(self, kernel: FusedKernel, tensors: tuple):
        self.kernel, self.tensors = kernel, tensors
        self.chip = kernel.chip
        like = tensors or kernel.example
        self.sizes = [(tuple(t.shape), tuple(t.stride()), str(t.dtype)) for t in like]
        self.ways: dict[tuple, Way] = {}  # full key -> how it is cut
        self.whys: dict[tuple, str] = {}
        self.times: dict[Way, float] = {}

    # ---- all candidates

    def parameters(self) -> dict[str, tuple]:
        """Values that no candidate has are left out, and parameters that have one value."""
        seen: dict[tuple, tuple] = {}
        refused = None
        planned = self._planner()
        cores = chips.load(self.chip)["cores"]["aiv"]
        blocks = sorted({1, 2, planned.blocks, *(max(1, round(cores * share)) for share in CORES)})
        turns = sorted({*TURNS, math.ceil(planned.tiles / planned.blocks)})
        for program in self.kernel.shapes(*self.tensors):
            for slots in (1, SLOTS):
                try:
                    plan, geometry = self.kernel.planned(Way(program, slots), *self.tensors)
                except Refused as e:
                    refused = e
                    continue
                for order in ORDERS:
                    for key, cut in self._cuts(plan, geometry, blocks, turns, order):
                        whole = (program, slots, order, *key)
                        if (program, slots, order, cut) in seen:
                            self.whys[whole] = self._same(seen[program, slots, order, cut])
                            continue
                        seen[program, slots, order, cut] = whole
                        self.ways[whole] = Way(program, slots, order, cut.tall, cut.wide, cut.blocks)
        if not self.ways:
            raise refused or ValueError(self.kernel.name)
        names = ("program", "slots", "order", "blocks", "turns", "pieces")
        values = [sorted({k[i] for k in self.ways}) for i in range(len(names))]
        self.fixed = {n: v[0] for n, v in zip(names, values) if len(v) == 1}
        self.names = names
        self.start = self._nearest(planned)
        return {n: tuple(v) for n, v in zip(names, values) if len(v) > 1} or {"blocks": tuple(values[3])}

    def _planner(self) -> Cut:
        """What the planner takes by itself."""
        self.kernel.choose(None, *self.tensors)
        p = self.kernel.prepare([*self.tensors, *self.kernel.parameters] if self.tensors else self.kernel.example)
        self.default = Way(p.plan.program.shape, p.plan.slots, p.plan.order, p.cut.tall, p.cut.wide, p.cut.blocks)
        return p.cut

    def _cuts(self, plan: Plan, g: Geometry, blocks: list[int], turns: list[int], order: str):
        """(blocks, turns, pieces) and the cut, of those that differ from each other in the program's own way."""
        shape, made = plan.program.shape, []
        for b in blocks:
            for pieces in PIECES_OF_A_ROW:
                if pieces > 1 and (shape == ROWS or g.width / pieces < LEAST_PIECE):
                    continue
                flat = shape == PIECES and g.rows == 1
                if flat and pieces > 1:
                    continue
                if order != ORDERS[0] and (shape != PIECES or pieces == 1 or g.rows == 1):
                    continue
                for turn in turns[:1] if shape == WIDE else turns:
                    tall, wide = _tile(g, b, turn, pieces, flat)
                    try:
                        cut = tiling.cut(plan, g, tall, wide, b)
                    except Refused:
                        continue
                    if cut.blocks == b:
                        made.append(((b, turn, pieces), cut))
        longest = max((c.tall * pitch(plan, c.wide) for _, c in made), default=0)
        return [(k, c) for k, c in made if shape == WIDE or SHORTEST * c.tall * pitch(plan, c.wide) >= longest]

    def _same(self, other: tuple) -> str:
        return messages.text("tuning.same", blocks=other[3], turns=other[4], pieces=other[5])

    def _nearest(self, planned: Cut) -> Point:
        """The candidate that cuts as the planner does, or the one with the least prediction."""
        alike = [k for k, w in self.ways.items() if w == self.default]
        key = alike[0] if alike else min(self.ways, key=lambda k: self._predicted(self.ways[k]))
        return {n: v for n, v in zip(self.names, key) if n not in self.fixed}

    # ---- a candidate

    def _key(self, point: Point) -> tuple:
        there = {**self.fixed, **point}
        return tuple(there[n] for n in self.names)

    def way(self, point: Point) -> Way:
        return self.ways[self._key(point)]

    def refuse(self, point: Point) -> str | None:
        key = self._key(point)
        if key in self.ways:
            return None
        return self.whys.get(key) or messages.text("tuning.no_cut")

    def predict(self, point: Point) -> float:
        return self._predicted(self.way(point))

    def _predicted(self, way: Way) -> float:
        if way not in self.times:
            plan, geometry = self.kernel.planned(replace(way, tall=None, wide=None, blocks=None), *self.tensors)
            cut = tiling.cut(plan, geometry, way.tall, way.wide, way.blocks)
            self.times[way] = clock.predict(plan, geometry, cut, self.chip).us
        return self.times[way]

    def apply(self, point: Point) -> FusedKernel:
        return self.kernel.choose(self.way(point), *self.tensors)

    def features(self, point: Point) -> list[float]:
        """Of the graph: rows, width, batches, bytes of an element, tensors, steps, reductions, cores. Of the cut: its
        elements, cores, tiles of a core and how even they are, slots, order, program, how much of UB it takes."""
        way = self.way(point)
        plan, g = self.kernel.planned(replace(way, tall=None, wide=None, blocks=None), *self.tensors)
        cut, steps = tiling.cut(plan, g, way.tall, way.wide, way.blocks), plan.program.steps
        tensors = (*plan.program.inputs, *plan.program.outputs)
        elements, cores = cut.tall * pitch(plan, cut.wide), chips.load(self.chip)["cores"]["aiv"]
        turns = cut.tiles / cut.blocks
        return [
            math.log2(g.rows), math.log2(g.width), math.log2(g.batches), sum(SIZES[t.dtype] for t in tensors) / 4,
            float(len(tensors)), math.log2(len(steps)), float(sum(s.op == "reduce" for s in steps)), cores / 48,
            math.log2(elements), math.log2(cut.blocks), cut.blocks / cores, math.log2(turns), math.ceil(turns) / turns,
            float(way.slots), float(way.order == ORDERS[0]), float(way.shape == WIDE), float(way.shape == PIECES),
            elements / plan.tile,
        ]  # fmt: skip

    def run(self, point: Point) -> float:
        kernel = self.apply(point)
        if clocks.kind() == "modelled":
            return kernel.modelled(*self.tensors).time_us
        given = [t.npu() for t in self.tensors or kernel.example[: kernel.count]]
        return clocks.measured(lambda: kernel.launch(given))


def _tile(g: Geometry, blocks: int, turns: int, pieces: int, flat: bool) -> tuple[int, int]:
    """Rows and columns of a tile where each core has `turns` of them."""
    tiles = blocks * turns / g.batches  # of one batch
    if flat:
        wide = up(math.ceil(g.width / max(tiles, 1)), tiling.LINE)
        return 1, min(wide, g.width)
    wide = g.width if pieces == 1 else up(math.ceil(g.width / pieces), tiling.LINE)
    across = math.ceil(g.width / wide)
    return max(1, math.ceil(g.rows / max(tiles / across, 1))), wide
