"""The shapes that wrong results take. Each pattern looks at the evidence and returns its numbers, or None.

A pattern must explain (nearly) every wrong element, and only wrong elements: a name that fits half of the error sends
the learner the wrong way. Regions that were never written may be right by chance (a ReLU's zeros), so a region counts
as wrong from COVERAGE on. Pure functions of numpy arrays.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from labkit.exercises.layout import Layout, owners

COVERAGE = 0.3  # share of a region's elements that must be wrong for the region to be "the wrong region"
AGREE = 0.9  # share of the wrong elements that a value pattern must explain
ENOUGH = 8  # elements from which a value pattern is more than chance
ROUNDING_ULPS = 8
MANTISSA = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}


@dataclass(frozen=True)
class Evidence:
    """One output. got, expected: float64[n]; wrong: bool[n]; initial: float64[n] before the launch, or None;
    width: last dimension.
    """

    got: np.ndarray
    expected: np.ndarray
    wrong: np.ndarray
    rtol: float
    atol: float
    dtype: str
    itemsize: int
    width: int
    layouts: list[Layout]
    initial: np.ndarray | None = None
    inputs: tuple = field(default=())

    @cached_property
    def at(self) -> np.ndarray:
        """Indices of the wrong elements, int64."""
        return np.flatnonzero(self.wrong)

    @property
    def n(self) -> int:
        return len(self.got)

    @property
    def tile(self) -> int | None:
        return self.layouts[0].tile

    def close(self, a, b) -> np.ndarray:
        return np.abs(a - b) <= self.atol + self.rtol * np.abs(b)

    @cached_property
    def state(self) -> str:
        """What the wrong elements hold: "unwritten" (their value from before the launch), "zero", or ""."""
        if self.initial is not None and np.array_equal(self.got[self.at], self.initial[self.at]):
            return "unwritten"
        return "zero" if not self.got[self.at].any() else ""


def nan_inf(e: Evidence):
    bad = ~np.isfinite(e.got) & np.isfinite(e.expected)
    if bad.any():
        return {
            "nans": int(np.isnan(e.got[bad]).sum()),
            "infs": int(np.isinf(e.got[bad]).sum()),
            "at": int(np.flatnonzero(bad)[0]),
        }


def unwritten(e: Evidence):
    if e.initial is not None and np.array_equal(e.got, e.initial):
        return {}


def all_zero(e: Evidence):
    if not e.got.any() and e.expected.any():
        return {}


def _whole(e: Evidence) -> np.ndarray | None:
    """Indices with expected != 0, if (nearly) all of them are wrong and there are enough:
    where value patterns are looked for.
    """
    live = np.flatnonzero(np.abs(e.expected) > max(e.atol, 1e-30))
    if len(live) >= ENOUGH and e.wrong[live].mean() >= AGREE and e.got[live].any():
        return live


def negated(e: Evidence):
    live = _whole(e)
    if live is not None and e.close(-e.got[live], e.expected[live]).mean() >= AGREE:
        return {}


def reciprocal(e: Evidence):
    live = _whole(e)
    if live is not None and np.ptp(e.expected[live]) > 0:
        with np.errstate(divide="ignore", invalid="ignore"):
            if e.close(1 / e.got[live], e.expected[live]).mean() >= AGREE:
                return {}


def scaled(e: Evidence):
    live = _whole(e)
    if live is None or np.ptp(np.abs(e.expected[live])) == 0:
        return None
    ratio = e.got[live] / e.expected[live]
    factor = float(np.median(ratio))
    slack = 4 * max(e.rtol, 2.0 ** -MANTISSA.get(e.dtype, 30), 1e-6) * abs(factor)
    slack = slack + e.atol * min(1.0, abs(factor)) / np.abs(e.expected[live])  # results near 0 agree with any factor
    if (
        factor not in (0.0, 1.0)
        and abs(factor - 1) > 8 * 2.0 ** -MANTISSA.get(e.dtype, 30)
        and (np.abs(ratio - factor) <= slack).mean() >= AGREE
    ):
        return {"factor": factor}


def offset(e: Evidence):
    if len(e.at) < max(ENOUGH, AGREE * e.n) or np.ptp(e.expected) == 0 or e.state == "unwritten":
        return None
    difference = e.got - e.expected
    constant = float(np.median(difference))
    slack = 4 * (
        e.atol + max(e.rtol, 2.0 ** -MANTISSA.get(e.dtype, 30)) * np.maximum(np.abs(e.expected), np.abs(e.got))
    )
    if constant and abs(constant) > 2 * np.median(slack) and (np.abs(difference - constant) <= slack).mean() >= AGREE:
        return {"constant": constant}


def rounding(e: Evidence):
    error = np.abs(e.got - e.expected)[e.at]
    if e.state or not np.isfinite(error).all():
        return None
    if e.dtype not in MANTISSA:
        return {"ulps": 1} if error.max() <= 1 and len(e.at) < AGREE * e.n else None
    size = np.maximum(np.abs(e.expected[e.at]), 2.0**-14)
    ulps = error / 2.0 ** (np.floor(np.log2(size)) - MANTISSA[e.dtype])
    if ulps.max() <= ROUNDING_ULPS or (error <= 3 * (e.atol + e.rtol * np.abs(e.expected[e.at]))).all():
        return {"ulps": round(float(ulps.max()), 1)}


def same_block(e: Evidence):
    """Every block shows block 0's values."""
    for at in e.layouts:
        if at.starts is None or at.blocks < 2:
            continue
        spans = [(int(a), int(b)) for a, b in zip(at.starts[1:-1], at.starts[2:]) if b > a]
        if not spans or min(b - a for a, b in spans) < 4 or e.wrong[: at.starts[1]].any():
            continue
        if all(
            b - a <= at.starts[1]
            and e.wrong[a:b].mean() >= COVERAGE
            and e.close(e.got[a:b], e.expected[: b - a]).mean() >= AGREE
            for a, b in spans
        ):
            return {"block_length": int(at.starts[1])}


def same_tile(e: Evidence):
    """Every tile of a block shows the block's first tile: the tile number is missing in the read offset."""
    for at in e.layouts:
        first = _first_tiles(e, at)
        if first is None or e.wrong[first == np.arange(e.n)].any():
            continue
        later = np.flatnonzero(first != np.arange(e.n))
        if (
            len(later) >= ENOUGH
            and e.wrong[later].mean() >= AGREE
            and e.close(e.got[later], e.expected[first[later]]).mean() >= AGREE
        ):
            return {"tiles": -(-int(np.diff(at.starts).max()) // at.tile)}


def one_place(e: Evidence):
    """Of every block only the first tile was written, with the values of its last:
    the tile number is missing in the write offset.
    """
    if e.initial is None:
        return None
    for at in e.layouts:
        first = _first_tiles(e, at)
        if first is None:
            continue
        start = first == np.arange(e.n)
        size = np.diff(at.starts)
        last = np.repeat((size - 1) // at.tile * at.tile, size)  # of its block, at each element
        source = np.minimum(np.flatnonzero(start) + last[start], e.n - 1)
        if (
            np.array_equal(e.got[~start], e.initial[~start])
            and e.close(e.got[start], e.expected[source]).mean() >= AGREE
        ):
            return {"tiles": -(-int(size.max()) // at.tile)}


def _first_tiles(e: Evidence, at: Layout) -> np.ndarray | None:
    """For each element the same place in the first tile of its block; None where no block has two tiles."""
    if at.starts is None or not at.tile or np.diff(at.starts).max() <= at.tile:
        return None
    begin = np.repeat(at.starts[:-1], np.diff(at.starts))
    return begin + (np.arange(e.n) - begin) % at.tile


def _shift(e: Evidence) -> int | None:
    """k with got[i] == expected[i + k] for the wrong elements i; None when there is none."""
    if len(e.at) < 4 or e.state or len(np.unique(e.got[e.at])) < 3:
        return None
    votes: Counter[int] = Counter()
    for i in e.at[np.linspace(0, len(e.at) - 1, 7).astype(int)]:
        found = np.flatnonzero(e.close(np.float64(e.got[i]), e.expected))
        found = found[np.argsort(np.abs(found - i), kind="stable")][:256]
        votes.update((found - i).tolist())
    for k, _ in sorted(votes.items(), key=lambda kv: (-kv[1], abs(kv[0]), kv[0]))[:16]:
        inside = e.at[(e.at + k >= 0) & (e.at + k < e.n)]
        if (
            k
            and len(inside) >= max(4, len(e.at) / 2)
            and e.close(e.got[inside], e.expected[inside + k]).mean() >= AGREE
        ):
            return int(k)
    return None


def shifted(e: Evidence):
    """shifted, off-by-one-tile and stale-tile: the right values in the wrong place."""
    k = _shift(e)
    if k is None:
        return None
    whole_tiles = bool(e.tile) and k % e.tile == 0
    numbers = {
        "shift": k,
        "distance": abs(k),
        "bytes": abs(k) * e.itemsize,
        "tiles": abs(k) // e.tile if whole_tiles else 0,
    }
    suffix = _is_suffix(e.at, 0, e.n) and len(e.at) <= abs(k)
    if k < 0 and (whole_tiles and len(e.at) <= e.n / 2 or suffix):
        return "stale-tile", numbers
    if whole_tiles:
        return "off-by-one-tile", numbers
    return ("shifted", numbers) if len(e.at) >= e.n / 4 else None


def _is_suffix(at: np.ndarray, start: int, end: int) -> bool:
    """Do the wrong elements `at` reach the end of [start, end) densely, from somewhere after its start?"""
    length = end - int(at[0])
    return int(at[0]) > start and int(at[-1]) >= end - 1 - COVERAGE * length and len(at) >= COVERAGE * length


def row_tail(e: Evidence):
    rows = e.n // e.width if e.width else 0
    if rows < 2 or e.width < 2:
        return None
    column = e.at % e.width
    first = int(column.min())
    hit = len(np.unique(e.at // e.width))
    if first >= e.width / 4 and hit >= max(2, rows / 2) and len(e.at) >= COVERAGE * hit * (e.width - first):
        numbers = {"column": first, "width": e.width, "rows": hit}
        at_a_unit, aligned = first * e.itemsize % 32 == 0, e.width * e.itemsize % 32 == 0
        if 2 * first == e.width and (aligned or not at_a_unit):
            return "row-half", numbers
        return numbers if at_a_unit else None  # what an instruction leaves out begins at a unit


def whole_blocks(e: Evidence):
    """block-k, or half-range when the last blocks did nothing, or nobody all that follows."""
    if e.layouts[0].starts is None and (rest := half_range(e)):  # tiles in turn: no block has the end for itself
        return "half-range", rest
    for at in e.layouts:
        if at.blocks < 2:
            continue
        block, _ = owners(at)
        size = np.bincount(block, minlength=at.blocks)
        count = np.bincount(block[e.at], minlength=at.blocks)
        bad = np.flatnonzero(count)
        used = np.flatnonzero(size)
        if len(bad) == len(used) or (count[bad] < COVERAGE * size[bad]).any():
            continue
        if at.starts is not None and any(
            np.flatnonzero(e.wrong[at.starts[b] : at.starts[b + 1]])[0] > 7 + 0.1 * size[b] for b in bad
        ):
            continue
        last = bad[0] > 0 and np.array_equal(bad, used[-len(bad) :])
        if last and len(bad) == 1 and at.tile and size[bad[0]] < at.tile:
            continue  # this block is nothing but the tail
        numbers = {
            "bad": ", ".join(map(str, bad)),
            "bad_count": len(bad),
            "blocks": at.blocks,
            "right": int(e.at[0]),
            "part": int(e.at[0]) / e.n,
        }
        return ("half-range" if last and e.state and at.starts is not None else "block-k"), numbers
    return None


def tails(e: Evidence):
    for at in e.layouts:
        if at.starts is None:
            continue
        hit = []
        for b, (a, z) in enumerate(zip(at.starts[:-1], at.starts[1:])):
            inside = e.at[(e.at >= a) & (e.at < z)]
            if not len(inside):
                continue
            limit = at.tile or max(1, (z - a) // (4 if at.blocks == 1 else 2))
            if not _is_suffix(inside, int(a), int(z)) or z - inside[0] > limit:
                break
            hit.append((b, int(z - inside[0])))
        else:
            used = np.flatnonzero(np.diff(at.starts))
            if hit and (len(hit) > 1 or hit[0][0] == used[-1]):
                return {"cores": len(hit), "blocks": at.blocks, "length": max(n for _, n in hit), "from": int(e.at[0])}
    return None


def half_range(e: Evidence):
    """Right up to some element, untouched from there on, whatever the blocks."""
    rest = slice(int(e.at[0]), None)
    untouched = (
        not e.got[rest].any() if e.state == "zero" else bool(e.state) and np.array_equal(e.got[rest], e.initial[rest])
    )
    if untouched and _is_suffix(e.at, 0, e.n):
        return {
            "bad": "?",
            "bad_count": 0,
            "blocks": e.layouts[0].blocks,
            "right": int(e.at[0]),
            "part": int(e.at[0]) / e.n,
        }


def period(e: Evidence):
    """Wrong at fixed places of every p elements. The smallest p that fits."""
    unit = max(1, 32 // e.itemsize)
    spread = int(e.at[-1] - e.at[0]) + 1
    for p in sorted({2, 4, 8, 16, 32, 64, 128, 256, unit, 2 * unit, 4 * unit, 8 * unit, e.width}):
        if p < 2 or spread < 3 * p or len(e.at) < 4:
            continue
        places = np.unique(e.at % p)
        possible = np.isin(np.arange(e.at[0], e.at[-1] + 1) % p, places).sum()
        if len(places) <= p / 2 and len(e.at) >= 0.6 * possible:
            return {"period": p, "bytes": p * e.itemsize, "places": len(places), "place": int(places[0])}
    return None


def no_pattern(e: Evidence):
    return ("wrong-everywhere" if len(e.at) > e.n / 2 else "scattered"), {}


# Order is part of the contract: values that cannot be right at all, then values that are right but transformed or
# misplaced (they explain every element), then places, then what is left. A function that returns a tuple names its own
# key.
PATTERNS = (
    ("nan-inf", nan_inf),
    ("unwritten", unwritten),
    ("all-zero", all_zero),
    ("negated", negated),
    ("reciprocal", reciprocal),
    ("scaled", scaled),
    ("offset", offset),
    ("rounding", rounding),
    ("same-block", same_block),
    ("same-tile", same_tile),
    ("one-place", one_place),
    ("shifted", shifted),
    ("row-tail", row_tail),
    ("block-k", whole_blocks),
    ("only-tail", tails),
    ("half-range", half_range),
    ("period", period),
    ("", no_pattern),
)
