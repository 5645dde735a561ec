"""How long a step takes: measured on the device for a grid of sizes, interpolated between them.

Ten thousand requests are some hundred thousand steps; running each would take hours, and a step's modelled time depends
on its sizes alone. So a grid is measured once (`python scripts/serving_steps.py --times`), kept in
data/serving_step_times.csv, and read from there. On the simulated device the times are modelled, like all of its times;
tests/serving measures drawn sizes anew and compares.
"""

from __future__ import annotations

import csv
from bisect import bisect_left
from functools import lru_cache
from pathlib import Path

from labkit.paths import repo_root
from labkit.serving.settings import NAIVE, Settings

ROWS = (1, 2, 4, 8, 16, 32)
SPANS = (32, 128, 256, 512, 1024, 2048)
GRAPH_SPANS = (256, 512, 1024, 2048)
WIDTHS = (16, 64, 128, 256, 512, 1024, 2048)
CHUNK_ROWS, CHUNK_WIDTHS, CHUNK_SPANS = (1, 2, 4, 8, 16), (16, 64, 128, 256), (256, 512, 1024, 2048)
COLUMNS = ("work", "how", "pinned", "graph", "rows", "width", "span", "us", "copy_us", "launches")


def file() -> Path:
    return repo_root() / "data" / "serving_step_times.csv"


class StepTimes:
    """Costs by interpolation. `prefill` and `decode` take a step's sizes, `fetch` and `insert` are those of features."""

    def __init__(self, rows: list[dict]):
        self._tables: dict[tuple, dict[tuple[int, int, int], tuple]] = {}
        for r in rows:
            key = r["work"], r["how"], int(r["pinned"]), int(r["graph"])
            at = int(r["rows"]), int(r["width"]), int(r["span"])
            cost = float(r["us"]), float(r["copy_us"]), float(r["launches"])
            self._tables.setdefault(key, {})[at] = cost
        self._axes = {
            key: tuple(sorted({at[i] for at in table}) for i in range(3)) for key, table in self._tables.items()
        }
        self._known: dict[tuple, tuple[float, float, float]] = {}

    @classmethod
    @lru_cache(maxsize=None)
    def load(cls, path: Path | None = None) -> "StepTimes":
        """Those of the data folder. Raises OSError where they are not there."""
        with open(path or file(), encoding="utf-8", newline="") as text:
            return cls(list(csv.DictReader(line for line in text if not line.startswith("#"))))

    def prefill(self, s: Settings, rows: int, width: int, span: int) -> tuple[float, float, float]:
        """(us, us of copies in it, launches) of reading `rows` pieces of at most `width` tokens."""
        if width == span:
            return self._at(("prefill", "fused" if s.fused else "own", s.pinned, 0), rows, width, width)
        return self._at(("piece", "fused" if s.fused else "gather", s.pinned, 0), rows, width, span)

    def decode(self, s: Settings, rows: int, span: int) -> tuple[float, float, float]:
        """The same of making one token for each of `rows` requests, the longest of which has `span` of them."""
        key = ("decode", s.attention, s.pinned, int(s.graph))
        if s.graph:
            axes = self._axes[key]
            rows = axes[0][bisect_left(axes[0], rows)]
            span = axes[2][min(bisect_left(axes[2], span), len(axes[2]) - 1)]
        return self._at(key, rows, 1, span)

    def fetch(self, s: Settings) -> tuple[float, float, float]:
        """Of bringing features to the device; pinned: the host's part, while copy_us runs on the second stream."""
        return self._at(("fetch", "", s.pinned, 0), 1, 1, 1)

    def insert(self, s: Settings) -> tuple[float, float, float]:
        """Of making rows of a prompt from features that are there."""
        return self._at(("insert", "", 0, 0), 1, 1, 1)

    def _at(self, key: tuple, rows: int, width: int, span: int) -> tuple[float, float, float]:
        asked = (key, rows, width, span)
        found = self._known.get(asked)
        if found is None:
            found = self._known[asked] = self._interpolated(key, rows, width, span)
        return found

    def _interpolated(self, key: tuple, *at: int) -> tuple[float, float, float]:
        """Linear along each axis; beyond the grid the last piece goes on."""
        table, corners = self._tables[key], [((), 1.0)]
        tied = key[0] == "prefill"  # its span is its width
        for axis, x in list(zip(self._axes[key], at))[: 2 if tied else 3]:
            if len(axis) == 1:
                corners = [((*c, axis[0]), w) for c, w in corners]
                continue
            i = min(max(1, bisect_left(axis, x)), len(axis) - 1)
            share = (x - axis[i - 1]) / (axis[i] - axis[i - 1])
            if x <= axis[0]:
                share = 0.0
            corners = [((*c, axis[j]), w * p) for c, w in corners for j, p in ((i - 1, 1 - share), (i, share)) if p]
        total = [0.0, 0.0, 0.0]
        for corner, weight in corners:
            corner = (*corner, corner[1]) if tied else corner
            for n, value in enumerate(table.get(corner) or self._nearest(table, corner)):
                total[n] += weight * value
        return total[0], total[1], total[2]

    @staticmethod
    def _nearest(table: dict, corner: tuple):
        """A corner that was too large to be measured: from the widest with as many rows, by its tokens."""
        rows, width, span = corner
        known = max((at for at in table if at[0] == rows), key=lambda at: (at[1], at[2]))
        us, copy, launches = table[known]
        return us * max(1.0, width / known[1]), copy, launches


# ---- measuring


def measured(only=None) -> list[dict]:
    """The grid, on the device as it is; rows by COLUMNS. only: a function of (work, how, pinned, graph)."""
    from labkit.serving.model import Decoder

    decoder, found = Decoder(), []
    for pinned in (False, True):
        for how, change in (("view", {}), ("gather", {"paged": True}), ("fused", {"paged": True, "fused": True})):
            settings = NAIVE.with_(pinned=pinned, **change)
            if how != "gather" and (only is None or only("prefill", how, pinned, False)):
                sizes = [(b, w, w) for b in ROWS for w in WIDTHS if b * w <= 8192]
                found += _grid("prefill", "own" if how == "view" else how, settings, sizes, decoder)
            if how != "view" and pinned and (only is None or only("piece", how, pinned, False)):
                sizes = [(b, w, n) for b in CHUNK_ROWS for w in CHUNK_WIDTHS for n in CHUNK_SPANS if b * w <= 2048]
                found += _grid("piece", how, settings, sizes, decoder)
            for graph in (False, True):
                if only is None or only("decode", how, pinned, graph):
                    sizes = [(b, 1, n) for b in ROWS for n in (GRAPH_SPANS if graph else SPANS)]
                    found += _grid("decode", how, settings.with_(graph=graph), sizes, decoder)
    if only is None or only("features", "", False, False):
        found += _features(decoder)
    return found


def _entry(work: str, how: str, s: Settings, rows: int, width: int, span: int, cost) -> dict:
    numbers = (work, how, int(s.pinned), int(s.graph), rows, width, span, round(cost.us, 3), round(cost.copy_us, 3))
    return dict(zip(COLUMNS, (*numbers, round(cost.launches))))


def _grid(work: str, how: str, settings: Settings, sizes, decoder) -> list[dict]:
    return [_entry(work, how, settings, b, w, n, cost(work, settings, b, w, n, decoder)) for b, w, n in sizes]


def cost(work: str, settings: Settings, rows: int, width: int, span: int, decoder):
    """What a step of these sizes takes, by running it twice: the first finds cold caches and records graphs."""
    from labkit.serving.runner import Row, Runner, stopwatch

    settings = settings.with_(slots=max(rows, settings.slots))
    runner = _runner(settings, decoder, Runner)
    each = settings.max_length // settings.page
    # side by side as a batch's rows are, or spread over the pool as pages are after a while
    pages = [list(range(1 + i * each, 1 + (i + 1) * each)) for i in range(rows)]
    if settings.paged:
        pages = [p[::-1] for p in pages]
    if work == "decode":
        made = [Row([1], span - 1, p) for p in pages]
        call = lambda: runner.decode(made)  # noqa: E731
    else:
        made = [Row([1] * width, span - width, p) for p in pages]
        call = lambda: runner.prefill(made)  # noqa: E731
    call()
    with stopwatch() as watch:
        call()
    return watch.cost


@lru_cache(maxsize=1)
def _runner(settings: Settings, decoder, kind):
    return kind(settings, decoder)


def _features(decoder) -> list[dict]:
    from labkit.serving.runner import Cost, Row, Runner, stopwatch

    found = []
    for pinned in (False, True):
        settings = NAIVE.with_(pinned=pinned)
        runner = Runner(settings, decoder)
        runner.fetch(0)
        with stopwatch() as whole:
            runner.fetch(0)
            if pinned:  # what the host spends on sending for them; the copy goes on behind its back
                from labkit import device

                host_us = device.clock().host_us
        at = whole.cost if not pinned else Cost(host_us, whole.cost.copy_us, whole.cost.launches)
        found.append(_entry("fetch", "", settings, 1, 1, 1, at))
    moved, _ = runner.fetch(0)
    pages = list(range(1, 129))
    with stopwatch() as plain:
        runner.prefill([Row([1] * 128, 0, pages)])
    with stopwatch() as more:
        runner.prefill([Row([1] * 128, 0, pages, moved)])
    extra = Cost(more.cost.us - plain.cost.us, 0.0, more.cost.launches - plain.cost.launches)
    found.append(_entry("insert", "", NAIVE, 1, 1, 1, extra))
    return found


def write(rows: list[dict], path: Path | None = None) -> None:
    """Writes them with a line that says what they are."""
    from labkit import device

    with open(path or file(), "w", encoding="utf-8", newline="") as text:
        text.write(
            f"# modelled times of the decoder's steps on the simulated {device.chip()}, by scripts/serving_steps.py --times\n"
        )
        table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
