"""The mismatch map: where the wrong elements are, core by tile, and whether they come back with a period.

Contract. A cell is one tile of one core: the share of its elements that are wrong as a number, as a density of the fill
and with a sign (x wrong, dot right). Neighbouring cores, and tiles, that look the same (to 5 %) are one row, or column.
All from one boolean array; True is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labkit.figures.svg import WIDTH, Canvas, Figure
from labkit.figures.tiling import read_split
from labkit.figures.words import join, percent, shorten, text_width
from labkit.messages import text

LEFT, RIGHT, GRID = 16, WIDTH - 16, 108
ROWS, COLUMNS = 14, 12
PERIODS = (2, 4, 8, 16, 32, 64, 128, 256, 512)


@dataclass(frozen=True)
class Period:
    """Wrong are the elements whose index modulo `period` is one of `offsets`, from element `first` to `last`."""

    period: int
    offsets: tuple[int, ...]
    first: int
    last: int


def find_period(bad: np.ndarray) -> Period | None:
    """The shortest power of two with which the wrong elements come back between the first and the last
    of them; None without one.
    """
    wrong = np.flatnonzero(bad)
    if len(wrong) < 3:
        return None
    first, last = int(wrong[0]), int(wrong[-1])
    for p in PERIODS:
        low, high = first - first % p, last + 1 + (-last - 1) % p
        if high - low < 3 * p or len(bad) < low + 3 * p:
            break
        periods = bad[low : low + (min(high, len(bad)) - low) // p * p].reshape(-1, p)
        rate = (periods[1:-1] if len(periods) >= 5 else periods).mean(axis=0)  # the first and last may be cut
        hit = rate >= 0.9
        if ((rate <= 0.1) | hit).all() and 0 < hit.sum() < p:
            return Period(p, tuple(int(i) for i in np.flatnonzero(hit)), first, last)
    return None


def tile_counts(bad: np.ndarray, cores: list[tuple[int, int]], tile: int) -> tuple[np.ndarray, np.ndarray]:
    """(wrong, all) elements of each tile, both int64 (cores, tiles); a tile that a core does not have counts 0 of 0."""
    columns = max(max((-(-length // tile) for _, length in cores), default=0), 1)
    wrong, every = np.zeros((len(cores), columns), np.int64), np.zeros((len(cores), columns), np.int64)
    for i, (start, length) in enumerate(cores):
        piece = bad[start : start + length]
        edges = np.arange(0, len(piece), tile)
        if len(edges):
            wrong[i, : len(edges)] = np.add.reduceat(piece.astype(np.int64), edges)
            every[i, : len(edges)] = np.diff(np.r_[edges, len(piece)])
    return wrong, every


def _alike(cells: np.ndarray, cap: int) -> list[tuple[int, int]]:
    """Runs [first, last] of equal rows; beyond `cap` runs, the middle ones become one."""
    if not len(cells):
        return []
    cuts = np.flatnonzero((cells[1:] != cells[:-1]).any(axis=1)) + 1
    runs = list(zip([0, *cuts.tolist()], [*(cuts - 1).tolist(), len(cells) - 1], strict=True))
    if len(runs) > cap:
        head, tail = runs[: cap // 2], runs[-(cap - cap // 2 - 1) :]
        runs = [*head, (head[-1][1] + 1, tail[0][0] - 1), *tail]
    return runs


def mismatch_map(
    bad, blocks: int, tile: int, split: str | Sequence[tuple[int, int]] = "even", dtype_bytes: int = 4
) -> Figure:
    """The map. `bad`: boolean array, flattened; `tile` in elements; `split` and `dtype_bytes` as in `tiling_map`."""
    bad = np.asarray(bad, dtype=bool).reshape(-1)
    if tile <= 0:
        raise ValueError(f"tile={tile}: want at least one element")
    cores = read_split(len(bad), blocks, dtype_bytes, split)
    wrong, every = tile_counts(bad, cores, tile)
    total = int(bad.sum())
    title = text("fig_mismatch_title", n=f"{total:,}", all=f"{len(bad):,}")
    period = find_period(bad)
    finding = _finding(bad, cores, tile, wrong, period)
    c = Canvas()
    y = c.heading(title, finding)
    rows, y = _grid(c, y + 14, wrong, every)
    if period and period.period <= 32:
        y = _strip(c, y + 8, period)
    return c.figure(title, "\n".join([finding, *rows]), y)


def _finding(bad, cores, tile: int, wrong: np.ndarray, period: Period | None) -> str:
    if not bad.any():
        return text("fig_mismatch_none")
    at = int(np.argmax(bad))
    core = next((i for i, (start, length) in enumerate(cores) if start <= at < start + length), None)
    touched = dict(tiles=int((wrong > 0).sum()), cores=int((wrong > 0).any(axis=1).sum()))
    sentences = [
        text("fig_mismatch_outside", at=f"{at:,}", **touched)
        if core is None
        else text("fig_mismatch_first", at=f"{at:,}", core=core, tile=(at - cores[core][0]) // tile, **touched)
    ]
    if period:
        offsets = ", ".join(map(str, period.offsets[:8])) + ("…" if len(period.offsets) > 8 else "")
        sentences.append(text("fig_mismatch_period", period=period.period, offsets=offsets))
    return join(*sentences)


def _span(run: tuple[int, int]) -> str:
    return str(run[0]) if run[0] == run[1] else f"{run[0]}–{run[1]}"


def _grid(c: Canvas, y: float, wrong: np.ndarray, every: np.ndarray) -> tuple[list[str], float]:
    share = wrong / np.maximum(every, 1)
    cells = np.where(
        every == 0, -1, np.where(wrong == 0, 0, np.where(wrong == every, 99, 1 + (share * 20).astype(int)))
    )
    down, across = _alike(cells, ROWS), _alike(cells.T, COLUMNS)
    wide, high = min(96.0, (RIGHT - GRID) / len(across)), 26.0
    c.text(GRID, y, text("fig_tiles"), "s m")
    y += 16
    for k, run in enumerate(across):
        c.text(GRID + (k + 0.5) * wide, y, shorten(_span(run), wide - 2, 11), "s c")
    y += 7
    rows = []
    for run in down:
        name = text("fig_core", core=_span(run))
        c.text(GRID - 10, y + high / 2 + 4, shorten(name, GRID - LEFT - 8, 12.5), "b e")
        said = []
        for k, (a, b) in enumerate(across):
            part = (slice(run[0], run[1] + 1), slice(a, b + 1))
            bad, n = int(wrong[part].sum()), int(every[part].sum())
            x = GRID + k * wide
            if not n:
                continue
            tip = (
                text("fig_cell", core=_span(run), tile=_span((a, b)), bad=f"{bad:,}", n=f"{n:,}")
                if len(down) * len(across) <= 80
                else ""
            )
            _cell(c, x + 1, y + 1, wide - 2, high - 2, bad / n, tip)
            if bad:
                said.append(f"{text('fig_tile', tile=_span((a, b)))} {percent(bad / n)}")
        right = text("fig_right" if every[run[0] : run[1] + 1].any() else "fig_without")
        rows.append(f"{name}: " + (", ".join(said[:6]) + (", …" if len(said) > 6 else "") if said else right))
        y += high
    y += 20
    x = float(LEFT)
    for share, key in ((0.0, "fig_right"), (0.05, "fig_few"), (0.5, "fig_some"), (1.0, "fig_all")):
        _cell(c, x, y - 12, 24, 15, share, "", sign_only=True)
        c.text(x + 30, y, text(key), "s")
        x += 30 + text_width(text(key), 11) + 22
    return rows, y + 14


def _cell(c: Canvas, x, y, w, h, share: float, tip: str, sign_only: bool = False) -> None:
    """Right: outline and dot. Wrong: red, denser with the share, a x and the number."""
    if not share:
        c.rect(x, y, w, h, cls="o", rx=2, title=tip)
        c.text(x + w / 2, y + h / 2 + 4, "·", "c m")
        return
    fill = "red" if share == 1 else "red/dots" if share < 0.095 else "red/back"
    c.rect(x, y, w, h, fill, rx=2, title=tip)
    number = percent(share)
    for words in ("×",) if sign_only else (f"× {number}", number, "×"):
        if c.inside(x, y, w, h, words, fill, size=11):
            break


def _strip(c: Canvas, y: float, period: Period) -> float:
    """One period, element by element."""
    c.text(LEFT, y + 4, text("fig_period", period=period.period), "b")
    wide = min(34.0, (RIGHT - LEFT) / period.period)
    for i in range(period.period):
        x = LEFT + i * wide
        _cell(c, x + 0.5, y + 14, wide - 1, 20, 1.0 if i in period.offsets else 0.0, "", sign_only=True)
        c.text(x + wide / 2, y + 47, str(i), "s m c")
    return y + 56
