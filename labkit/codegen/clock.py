"""How long a generated kernel will take, from bytes, vector cycles and the chip's table: nothing is compiled or run.

Every number comes from the table (labkit/twin/chips/*.toml) and from the program's own steps. The model follows a
core's tiles through three stages that overlap, copy in, vector unit, copy out, with two places each; all cores share
HBM and L2. It is simpler than the twin's clock and is held against it by the tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from labkit import chips
from labkit.codegen.ir import COLUMN, FULL, ONE, ROW, SIZES, WIDE, Step, Tensor
from labkit.codegen.places import LANES, SLOTS, Plan, Section
from labkit.codegen.steps import Cost, Tile

WINDOW_OF_TILES = 400  # of a pass, that are followed one by one; of more the last ones' pace goes on


@dataclass(frozen=True)
class Prediction:
    """us: of the launch, modelled. parts: us of each stage where it would be alone, and of what the launch costs;
    bytes: read and written; cycles: of the vector unit on one core."""

    us: float
    parts: dict
    read: int
    written: int
    cycles: float

    @property
    def bound(self) -> str:
        """The largest part."""
        return max(self.parts, key=self.parts.get)


@dataclass(frozen=True)
class _Stage:
    """Cycles of one tile: until the next may begin, until it is there."""

    busy: float
    end: float


class _Chip:
    def __init__(self, name: str):
        self.table = chips.load(name)
        self.hz = self.table["clock"]["hz"]
        self.cost = Cost(self.table)

    def copy(self, route: str, rows: int, row: float, stride: float, held: bool, sharers: int) -> _Stage:
        """One DataCopyPad of `rows` pieces of `row` bytes."""
        d, gm = self.table["dma"][route], self.table["gm"]
        bytes_ = rows * row
        out = route == "from_ub"
        piece, hbm, load = gm["piece"], 0.0 if held or out else bytes_, bytes_
        # Of short rows that lie close together each finds in the L2 what the one before it brought there.
        new = min(1.0, stride / piece) if rows > 1 else 1.0
        missed = hbm if new == 1 else hbm * row / piece / 2
        hit = bytes_ - missed
        own = missed / d["slow"] + hit / d["hit"]
        if rows > 1:
            new = new if missed else 0.0
            own += rows * (new * d["row_missed"] + (1 - new) * d["row"])
        burst = missed / d["fast"] + hit / max(d["fast"], d["hit"])
        pieces = _pieces(row, stride, piece) * rows
        useful = math.ceil(row / piece) * piece * rows if row < piece else bytes_
        if pieces * piece > useful:
            more = pieces * piece / useful
            own, burst, hbm, load = own * more, burst * more, hbm * more, load * more
        latency = d["latency"] if missed else d["latency_hit"]
        shared = max(hbm / gm["hbm"], load / gm["l2"], load / gm["l2_write"] if out else 0) * self.hz * sharers
        held_up = (latency + burst) * min(1.0, missed / d["window"]) if d["window"] else 0
        return _Stage(max(own, burst, held_up, shared, d["issue"]), max(latency + burst, own, shared))


def _pieces(row: float, stride: float, piece: int) -> float:
    """Of GM that a row of that many bytes lies in, on the average over where rows begin."""
    step = math.gcd(int(stride), piece) if stride % piece else piece
    starts = range(0, piece, step)
    return sum(math.floor((s + row - 1) / piece) + 1 for s in starts) / len(starts)


def predict(plan: Plan, geometry, cut, chip: str = chips.DEFAULT) -> Prediction:
    """Of one launch. Inputs are taken to come from HBM but for those in geometry.held."""
    c = _chip(chip)
    launch, scalar = c.table["launch"], c.table["scalar"]
    sections = {s.kind: s for s in plan.sections}
    tile = _tile(plan, cut.tall, min(cut.wide, geometry.width))
    if plan.program.shape == WIDE:
        before = 0.0
        per_row, seen = [], {t.name for t in plan.program.inputs if t.kind in (ROW, ONE)}
        for s in (s for s in plan.sections if s.kind == "pass"):  # what a pass has read, the next one finds in the L2
            per_row.append(_stages(c, plan, replace(geometry, held=geometry.held | seen), s, tile, cut))
            seen = seen | {load.tensor.name for load in s.loads()}
        row_columns = sum(_vector(c, s.steps, Tile(1, LANES)) for s in plan.sections if s.kind in ("row", "after"))
        extra = sum(_wait(c, plan, geometry, s, tile, cut) for s in plan.sections if s.kind in ("row", "end"))
        stages = [(p, cut.across) for p in per_row]
        turn = _follow(stages * 3, plan.slots) - _follow(stages * 2, plan.slots) + row_columns + extra
        first = _follow(stages, plan.slots) + row_columns + extra
        rows = math.ceil(cut.tiles / cut.blocks)

        def work(count: int) -> float:
            return first + turn * (count - 1) if count else 0.0

        alone = {
            "copies in": sum(s[0].busy for s in per_row) * cut.across * rows,
            "vector": (sum(s[1] for s in per_row) * cut.across + row_columns) * rows,
        }
        alone["copies out"] = sum(s[2].busy for s in per_row) * cut.across * rows
    else:
        before = _setup(c, plan, geometry, sections.get("setup"), tile, cut)
        again = {
            t.name for t in plan.program.inputs if t.kind == ROW and geometry.rows > cut.tall
        }  # for every tile below
        stage = _stages(c, plan, replace(geometry, held=geometry.held | again), sections["tile"], tile, cut)
        count = math.ceil(cut.tiles / cut.blocks)

        def work(count: int) -> float:
            return _follow([(stage, count)], plan.slots)

        alone = {"copies in": stage[0].busy * count, "vector": stage[1] * count, "copies out": stage[2].busy * count}
    # Cores begin one after the other; the first ones have a tile more where tiles do not come out even.
    more = cut.tiles % cut.blocks or cut.blocks
    cycles, begin = 0.0, 0.0
    for last, tiles in ((more, math.ceil(cut.tiles / cut.blocks)), (cut.blocks, cut.tiles // cut.blocks)):
        at = launch["second"] + launch["per_core"] * (last - 2) if last > 1 else 0.0
        took = scalar["start"] + before + work(tiles)
        if at * c.hz + took > begin * c.hz + cycles:
            begin, cycles = at, took
    uneven = launch["uneven"] * cycles if cut.blocks > 1 else 0.0
    read = {t.name: _bytes(plan, geometry, t) for t in plan.program.inputs}
    times = {t.name: _times(plan, t) for t in plan.program.inputs}
    written = sum(_bytes(plan, geometry, t) for t in plan.program.outputs)
    missed = sum(n for name, n in read.items() if name not in geometry.held)
    back = _pushed_out(c, missed, written) + geometry.pushed * c.table["gm"]["give_back"]
    hbm = (missed + back) / c.table["gm"]["hbm"]
    first = (scalar["start"] + c.table["dma"]["to_ub"]["latency"]) / c.hz
    us = (launch["head"] + max(begin + (cycles + uneven) / c.hz, first + hbm + uneven / c.hz)) * 1e6
    parts = {name: value / c.hz * 1e6 for name, value in alone.items()}
    parts["hbm"] = hbm * 1e6
    parts["launch"] = (launch["head"] + begin + (scalar["start"] + before) / c.hz) * 1e6
    return Prediction(us, parts, sum(n * times[name] for name, n in read.items()), written, alone["vector"])


def _pushed_out(c: _Chip, read: int, written: int) -> float:
    """What HBM takes back while the kernel runs, in bytes that it would have read meanwhile: of a stream that is larger
    than the L2 the results that have to leave it."""
    room = c.table["memory"]["l2"] * c.table["gm"]["l2_share"]
    stays = room * written / (read + written) if read + written > room else written
    return (written - stays) * c.table["gm"]["give_back"]


_CHIPS: dict[str, _Chip] = {}


def _chip(name: str) -> _Chip:
    table = chips.load(name)
    if name not in _CHIPS or _CHIPS[name].table is not table:
        _CHIPS[name] = _Chip(name)
    return _CHIPS[name]


def _tile(plan: Plan, tall: int, wide: int) -> Tile:
    return Tile(tall, wide, plan.narrow, plan.tile // 32)


def _vector(c: _Chip, steps: list[Step], tile: Tile) -> float:
    total = 0.0
    for s in steps:
        if s.op in ("load", "store"):
            continue
        instructions, cycles = c.cost.step(s, tile)
        total += instructions * c.cost.startup + cycles
    return total


def _shape(t: Tensor, tile: Tile) -> tuple[int, int]:
    """Rows and columns of the piece of a tensor that a tile takes."""
    return {FULL: (tile.tall, tile.wide), ROW: (1, tile.wide), COLUMN: (1, tile.tall), ONE: (1, 1)}[t.kind]


def _copies(c: _Chip, geometry, tensors: list[Tensor], tile: Tile, route: str, sharers: int) -> _Stage:
    busy, end = 0.0, 0.0
    for t in tensors:
        rows, wide = _shape(t, tile)
        stride = geometry.row(t.name) if t.kind == FULL else wide
        if rows > 1 and stride == wide and tile.pitch == wide:
            rows, wide, stride = 1, rows * wide, rows * wide
        size = SIZES[t.dtype]
        one = c.copy(route, rows, wide * size, (stride if rows > 1 else wide) * size, t.name in geometry.held, sharers)
        end = max(end, busy + one.end)
        busy += one.busy
    return _Stage(busy, end)


def _stages(c: _Chip, plan: Plan, geometry, section: Section, tile: Tile, cut) -> tuple[_Stage, float, _Stage]:
    inputs = [s.tensor for s in section.loads()]
    outputs = [s.tensor for s in section.stores()]
    coming = _copies(c, geometry, inputs, tile, "to_ub", cut.blocks)
    going = _copies(c, geometry, outputs, tile, "from_ub", cut.blocks)
    return coming, _vector(c, section.steps, tile), going


def _wait(c: _Chip, plan: Plan, geometry, section: Section, tile: Tile, cut) -> float:
    """Of columns that come or go once a row, with nothing beside them."""
    loads, stores = [s.tensor for s in section.loads()], [s.tensor for s in section.stores()]
    one = Tile(1, 1)
    return (_copies(c, geometry, loads, one, "to_ub", cut.blocks).end if loads else 0) + (
        _copies(c, geometry, stores, one, "from_ub", cut.blocks).end if stores else 0
    )


def _setup(c: _Chip, plan: Plan, geometry, setup: Section | None, tile: Tile, cut) -> float:
    whole = _tile(plan, cut.tall, cut.wide)
    cycles = 0.0
    if cut.wide % LANES or geometry.width % LANES:  # zeros into the places of inputs
        for p in plan.places:
            if p.tensor is not None and p.name.endswith("_IN") and not p.column:
                cycles += p.slots * (c.cost.startup + whole.count(FULL) * SIZES[p.dtype] / c.cost.repeat)
    if setup is None:
        return cycles
    for s in setup.loads():
        cycles += _copies(c, geometry, [s.tensor], whole, "to_ub", cut.blocks).end
    return cycles + _vector(c, setup.steps, whole)


def _follow(runs: list[tuple[tuple[_Stage, float, _Stage], int]], slots: int = SLOTS) -> float:
    """Cycles until the last tile is out, of runs of so many equal tiles, with so many places each."""
    come = vector = go = last = 0.0
    vectors, outs = [0.0, 0.0], [0.0, 0.0]
    for (coming, v, going), count in runs:
        half = 0.0
        for i in range(min(count, WINDOW_OF_TILES)):
            begin = max(come, vectors[-slots] if coming.busy else 0.0)
            come = begin + coming.busy
            vector = max(begin + coming.end, vector, outs[-slots]) + v
            vectors.append(vector)
            start = max(vector, go)
            go = start + going.busy
            last = start + going.end if going.busy else vector
            outs.append(last)
            if i == WINDOW_OF_TILES // 2:
                half = last
        left = max(0, count - WINDOW_OF_TILES) * (last - half) / (WINDOW_OF_TILES - WINDOW_OF_TILES // 2 - 1)
        come, vector, go, last = come + left, vector + left, go + left, last + left
        vectors, outs = [x + left for x in vectors[-2:]], [x + left for x in outs[-2:]]
    return last


def _times(plan: Plan, t: Tensor) -> int:
    """How often its elements come in: with each pass over a row that does not fit UB."""
    return max(1, sum(load.tensor is t for s in plan.sections if s.kind == "pass" for load in s.loads()))


def _bytes(plan: Plan, geometry, t: Tensor) -> int:
    count = {FULL: geometry.rows * geometry.width, ROW: geometry.width, COLUMN: geometry.rows, ONE: 1}[t.kind]
    return int(count * SIZES[t.dtype] * (geometry.batches if t.batched or t.kind in (FULL, COLUMN) else 1))
