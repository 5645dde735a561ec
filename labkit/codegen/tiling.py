"""How a launch cuts its tensors: what the tiling struct holds, and on how many cores.

Shapes are known when a kernel is launched, not when it is written. Of the ways to cut that fit UB the one with the
least predicted time is taken (clock.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

from labkit import chips
from labkit.codegen import clock
from labkit.codegen.ir import DOWN, FULL, PIECES, ROWS, WIDE, refuse
from labkit.codegen.places import LANES, ORDERS, SLOTS, Plan, pitch, up

LINE = 128  # elements: pieces of rows begin at whole lines of 512 bytes of float


@dataclass(frozen=True)
class Geometry:
    """What a launch works on: outer * inner batches of rows x width. strides: of each tensor by name, in elements
    (outer, inner, row). held: names of inputs that the L2 has; pushed: bytes of earlier launches that have to leave it
    for HBM meanwhile."""

    rows: int
    width: int
    inner: int = 1
    outer: int = 1
    strides: tuple[tuple[str, tuple[int, int, int]], ...] = ()
    held: frozenset = frozenset()
    pushed: float = 0.0

    @property
    def batches(self) -> int:
        return self.inner * self.outer

    def row(self, name: str) -> int:
        return dict(self.strides)[name][2]


@dataclass(frozen=True)
class Cut:
    """down x across tiles of tall x wide elements for each batch, on `blocks` cores."""

    tall: int
    wide: int
    down: int
    across: int
    blocks: int
    tiles: int = field(default=0)


@dataclass(frozen=True)
class Way:
    """How somebody wants a launch cut; None: the planner chooses. shape: ROWS, PIECES or WIDE; slots, order: as
    places.plan has them; tall x wide: of a tile, in elements; blocks: cores."""

    shape: str | None = None
    slots: int = SLOTS
    order: str = ORDERS[0]
    tall: int | None = None
    wide: int | None = None
    blocks: int | None = None


def fits(plan: Plan, geometry: Geometry) -> bool:
    """Whether the kernel can take rows of that width, of DOWN that many rows."""
    if plan.program.shape == DOWN:
        return geometry.rows <= most_rows(plan)
    return plan.program.shape != ROWS or pitch(plan, geometry.width) <= plan.tile


def most_rows(plan: Plan) -> int:
    """Of DOWN, with the narrowest strip of columns."""
    return min(plan.tall, plan.tile // (plan.narrow or LANES))


def ways(plan: Plan, geometry: Geometry, chip: str = chips.DEFAULT) -> list[Cut]:
    """Cuts worth looking at."""
    cores = chips.load(chip)["cores"]["aiv"]
    rows, width, batches = geometry.rows, geometry.width, geometry.batches
    if not fits(plan, geometry):
        if plan.program.shape == DOWN:
            raise refuse("column_too_long", name=plan.program.name, rows=rows, most=most_rows(plan))
        raise refuse("row_too_wide", name=plan.program.name, width=width, tile=plan.tile)
    if plan.program.shape == DOWN:
        return list(_strips(plan, geometry, cores))
    if plan.program.shape == WIDE:
        pieces = math.ceil(width / plan.tile)
        wide = min(up(math.ceil(width / pieces), LINE), plan.tile)
        across = math.ceil(width / wide)
        return [Cut(1, wide, rows, across, b, rows * batches) for b in _blocks(rows * batches, cores)]
    wide = width if plan.program.shape == ROWS else min(width, plan.tile)
    most = max(1, min(plan.tile // pitch(plan, wide), plan.tall, rows))
    found = {}
    for blocks in _counts(cores):
        for more in (1, 2, 3, 4):
            made = _even(plan, geometry, wide, most, blocks, more)
            found[made] = None
    return list(found)


def _strips(plan: Plan, g: Geometry, cores: int) -> dict[Cut, None]:
    """Whole columns, in strips: wide ones for long copies, narrow ones for many cores."""
    if plan.narrow:
        across = math.ceil(g.width / plan.narrow)
        tiles = across * g.batches
        return {Cut(g.rows, min(plan.narrow, g.width), 1, across, b, tiles): None for b in _blocks(tiles, cores)}
    found: dict[Cut, None] = {}
    most = min(up(g.width, LANES), plan.tile // g.rows // LANES * LANES)
    for parts in range(1, 1 + most // LANES):
        wide = up(math.ceil(most / parts), LANES)
        across = math.ceil(g.width / wide)
        wide = min(up(math.ceil(g.width / across), LANES), wide, g.width)
        tiles = math.ceil(g.width / wide) * g.batches
        for blocks in _blocks(tiles, cores):
            found[Cut(g.rows, wide, 1, math.ceil(g.width / wide), blocks, tiles)] = None
    return found


def cut(plan: Plan, geometry: Geometry, tall: int, wide: int, blocks: int) -> Cut:
    """One that somebody chose. Raises Refused where such a tile does not fit UB, or is none of the program's."""
    shape = plan.program.shape
    if shape == WIDE:
        tall = 1
    elif shape == ROWS:
        wide = geometry.width
    elif shape == DOWN:
        tall, wide = geometry.rows, plan.narrow or wide
    tall, wide = min(tall, geometry.rows), min(wide, geometry.width)
    if min(tall, wide, blocks) < 1 or tall > plan.tall or tall * pitch(plan, wide) > plan.tile:
        raise refuse("cut", tall=tall, wide=wide, blocks=blocks, most=plan.tile, rows=plan.tall)
    line = plan.narrow or (LANES if shape == DOWN else LINE)
    if wide < geometry.width and wide % line:
        raise refuse("cut_line", wide=wide, line=line)
    down, across = math.ceil(geometry.rows / tall), math.ceil(geometry.width / wide)
    tiles = geometry.rows * geometry.batches if shape == WIDE else down * across * geometry.batches
    return Cut(tall, wide, geometry.rows if shape == WIDE else down, across, min(blocks, tiles), tiles)


def _counts(cores: int) -> list[int]:
    return sorted({1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, cores})


def _blocks(tasks: int, cores: int) -> list[int]:
    return sorted({min(tasks, b) for b in _counts(cores)})


def _even(plan: Plan, g: Geometry, wide: int, most: int, blocks: int, more: int) -> Cut:
    """Tiles of one length, as many for each core: `more` times as many as must be."""
    across = math.ceil(g.width / wide)
    least = g.batches * math.ceil(g.rows / most) * across
    wanted = math.ceil(least / blocks) * blocks * more
    each = wanted / (g.batches * across)  # tiles below each other in a batch
    tall = max(1, min(most, math.ceil(g.rows / max(each, 1))))
    if plan.program.shape == PIECES and each > g.rows:  # rows are cut as well
        wide = min(wide, g.width, up(math.ceil(g.width / max(1, math.ceil(wanted / (g.batches * g.rows)))), LINE))
        across = math.ceil(g.width / wide)
    down = math.ceil(g.rows / tall)
    tiles = down * across * g.batches
    return Cut(tall, wide, down, across, min(blocks, tiles), tiles)


@lru_cache(maxsize=4096)
def best(plan: Plan, geometry: Geometry, chip: str = chips.DEFAULT) -> Cut:
    """The cut with the least predicted time; of those within a hundredth of it the one on most cores, which hide each
    other's waiting where HBM is what all wait for. Raises Refused for rows that are too wide."""
    timed = [(clock.predict(plan, geometry, c, chip).us, c) for c in ways(plan, geometry, chip)]
    least = min(us for us, _ in timed)
    return min((t for t in timed if t[0] <= 1.01 * least), key=lambda t: (-t[1].blocks, t[0]))[1]


chips.at_change.append(lambda name: best.cache_clear())


def values(plan: Plan, geometry: Geometry, cut: Cut) -> dict[str, int]:
    """The tiling struct's fields."""
    program, strides = plan.program, dict(geometry.strides)
    made = {"rows": geometry.rows, "width": geometry.width}
    if program.batched:
        made |= {"batches": geometry.batches, "inner": geometry.inner}
    made |= {"tall": cut.tall, "wide": cut.wide, "down": cut.down, "across": cut.across}
    for t in (*program.inputs, *program.outputs):
        outer, inner, row = strides[t.name]
        if t.kind == FULL:
            made[f"{t.name}Row"] = row
        if program.batched:
            made |= {f"{t.name}Inner": inner, f"{t.name}Outer": outer}
    return made
