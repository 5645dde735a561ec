"""Which block and which tile an output element belongs to: for the diagnosis, and for the core x tile map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labkit.figures.mismatch import mismatch_map as draw

UB_ALIGN = 32  # bytes; DataCopy's unit
MAP_COLUMNS, MAP_ROWS = 64, 32


def splits(n: int, blocks: int, tile: int | None, itemsize: int) -> list[np.ndarray]:
    """The usual ways to give n elements to `blocks` blocks: block b has [s[b], s[b+1]).
    Each int64[blocks + 1], no two alike.

    Even shares; shares rounded up to 32 bytes or to whole tiles; the rest on the last block; big and small cores (in
    elements and in tiles). A kernel's own choice is not recorded, so the diagnosis tries them in this order.
    """

    def even(length: int) -> np.ndarray:
        return np.minimum(np.arange(blocks + 1) * length, n)

    def up(length: int, unit: int) -> int:
        return -(-length // unit) * unit

    share = -(-n // blocks)
    found = [even(share), even(up(share, max(1, UB_ALIGN // itemsize)))]
    floor = np.append(np.arange(blocks) * (n // blocks), n)
    big = np.append(0, np.cumsum([n // blocks + (b < n % blocks) for b in range(blocks)]))
    found += [floor, big]
    if tile:
        tiles = -(-n // tile)
        found += [
            even(up(share, tile)),
            np.minimum(
                np.append(0, np.cumsum([tiles // blocks + (b < tiles % blocks) for b in range(blocks)])) * tile, n
            ),
        ]
    unique: list[np.ndarray] = []
    for s in found:
        s = s.astype(np.int64)
        if not any(np.array_equal(s, u) for u in unique):
            unique.append(s)
    return unique


@dataclass(frozen=True)
class Layout:
    """n elements over blocks and tiles. starts: int64[blocks + 1], contiguous layouts only."""

    n: int
    blocks: int
    tile: int | None
    starts: np.ndarray | None

    def tails(self) -> list[tuple[int, int]]:
        """[start, end) of the last tile of each block that has more than one element range; whole tiles included."""
        if self.starts is None or not self.tile:
            return []
        found = []
        for a, b in zip(self.starts[:-1], self.starts[1:]):
            if b > a:
                found.append((int(a + (b - a - 1) // self.tile * self.tile), int(b)))
        return found


def layouts(
    n: int, blocks: int, tile: int | None, split: Sequence[int] | None, layout: str, itemsize: int
) -> list[Layout]:
    """The layouts to try, likeliest first."""
    blocks = max(1, int(blocks or 1))
    if layout == "interleaved" and tile:
        return [Layout(n, blocks, tile, None)]
    starts = [np.asarray(split, np.int64)] if split is not None else splits(n, blocks, tile, itemsize)
    return [Layout(n, len(s) - 1, tile, s) for s in starts]


def owners(at: Layout) -> tuple[np.ndarray, np.ndarray]:
    """(block, tile within the block) of each element, int64[n].
    Without a tile size a block is cut into at most 16 pieces.
    """
    index = np.arange(at.n, dtype=np.int64)
    if at.starts is None:
        tiles = index // at.tile
        return tiles % at.blocks, tiles // at.blocks
    block = np.searchsorted(at.starts, index, side="right") - 1
    block = np.clip(block, 0, at.blocks - 1)
    return block, (index - at.starts[block]) // step_of(at)


def step_of(at: Layout) -> int:
    """Elements of one column of the map."""
    longest = 1 if at.starts is None else int(np.diff(at.starts).max(initial=1))
    return at.tile or max(1, -(-longest // 16))


@dataclass(frozen=True)
class MismatchMap:
    """Wrong elements per block and tile. wrong, total: int64[blocks, tiles]; total 0 where a block has no such tile.

    bad: bool[n]; cores: (start, length) of each block, None for an interleaved layout; step: elements of a column.
    """

    wrong: np.ndarray
    total: np.ndarray
    bad: np.ndarray
    cores: list[tuple[int, int]] | None
    step: int

    def text(self) -> list[str]:
        """One line a block: `.` right, `o` partly wrong, `X` all wrong. Cut at 64 tiles and 32 blocks."""
        rows = []
        width = min(self.wrong.shape[1], MAP_COLUMNS)
        for b in range(min(len(self.wrong), MAP_ROWS)):
            marks = "".join(
                " " if t == 0 else "." if w == 0 else "X" if w == t else "o"
                for w, t in zip(self.wrong[b, :width], self.total[b, :width])
            )
            rows.append(f"{b:>3} |{marks}|" + (" ..." if self.wrong.shape[1] > width else ""))
        return rows + ([f"... +{len(self.wrong) - MAP_ROWS}"] if len(self.wrong) > MAP_ROWS else [])

    def figure(self):
        """The map as a labkit.figures.Figure; None where a block's elements are not one range."""
        if self.cores is None:
            return None
        return draw(self.bad, len(self.cores), self.step, split=self.cores)

    def as_json(self) -> dict:
        """Counts, cut as in text()."""
        part = (slice(0, MAP_ROWS), slice(0, MAP_COLUMNS))
        return {
            "wrong": self.wrong[part].tolist(),
            "total": self.total[part].tolist(),
            "blocks": len(self.wrong),
            "tiles": self.wrong.shape[1],
        }


def mismatch_map(wrong: np.ndarray, at: Layout) -> MismatchMap:
    """wrong: bool[n]."""
    block, tile = owners(at)
    shape = (at.blocks, int(tile.max(initial=0)) + 1)
    counts, totals = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    np.add.at(totals, (block, tile), 1)
    np.add.at(counts, (block[wrong], tile[wrong]), 1)
    cores = None if at.starts is None else [(int(a), int(b - a)) for a, b in zip(at.starts[:-1], at.starts[1:])]
    return MismatchMap(counts, totals, wrong, cores, step_of(at))
