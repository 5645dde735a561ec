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

from labkit import messages
from labkit.paths import repo_root
from labkit.serving.settings import NAIVE, Cost, Settings, bucket

ROWS, SPANS = (1, 8, 16, 32), (32, 256, 1024, 2048)
GRAPH_ROWS, GRAPH_SPANS = (1, 2, 4, 8, 16, 32), (256, 512, 1024, 2048)  # as labkit.serving.runner records them
READ_ROWS, READ_WIDTHS = (1, 4, 8, 16, 32), (16, 64, 128, 256, 512, 2048)
PIECE_ROWS, PIECE_WIDTHS, PIECE_SPANS = (1, 4, 8), (16, 64, 256), (256, 1024, 2048)
MOST_TOKENS = 4096  # of one step that reads prompts
COLUMNS = ("work", "how", "pinned", "graph", "rows", "width", "span", "us", "copy_us", "device_us", "launches")


def file() -> Path:
    return repo_root() / "data" / "serving_step_times.csv"


class StepTimes:
    """Costs by interpolation. `prefill` and `decode` take a step's sizes; `fetch` and `insert` are of features."""

    def __init__(self, rows: list[dict]):
        self._tables: dict[tuple, dict[tuple[int, int, int], Cost]] = {}
        for r in rows:
            key = r["work"], r["how"], int(r["pinned"]), int(r["graph"])
            at = int(r["rows"]), int(r["width"]), int(r["span"])
            cost = Cost(*(float(r[name]) for name in ("us", "copy_us", "device_us", "launches")))
            self._tables.setdefault(key, {})[at] = cost
        self._axes = {
            key: tuple(sorted({at[i] for at in table}) for i in range(3)) for key, table in self._tables.items()
        }
        self._known: dict[tuple, Cost] = {}

    @classmethod
    @lru_cache(maxsize=None)
    def load(cls, path: Path | None = None) -> "StepTimes":
        """Those of the data folder. Raises OSError where they are not there."""
        with open(path or file(), encoding="utf-8", newline="") as text:
            return cls(list(csv.DictReader(line for line in text if not line.startswith("#"))))

    def prefill(self, s: Settings, rows: int, width: int, span: int) -> Cost:
        """The cost of reading `rows` pieces of at most `width` tokens."""
        if width == span:
            return self._at(("prefill", "fused" if s.fused else "own", s.pinned, 0), rows, width, width)
        return self._at(("piece", "fused" if s.fused else "gather", s.pinned, 0), rows, width, span)

    def decode(self, s: Settings, rows: int, span: int) -> Cost:
        """The same of making one token for each of `rows` requests, the longest of which has `span` of them."""
        key = ("decode", s.attention, s.pinned, int(s.graph))
        if s.graph and key in self._axes:  # one shape is recorded for each of a few sizes
            axes = self._axes[key]
            rows = axes[0][bisect_left(axes[0], rows)] if rows <= axes[0][-1] else bucket(rows)
            if not s.fused:  # the kernel stops where a row ends, whatever was recorded
                span = axes[2][min(bisect_left(axes[2], span), len(axes[2]) - 1)]
        return self._at(key, rows, 1, span)

    def fetch(self, s: Settings) -> Cost:
        """Of bringing features to the device. pinned: of a piece, us the host's part, copy_us on the second stream."""
        return self._at(("fetch", "", s.pinned, 0), 1, 1, 1)

    def insert(self, s: Settings) -> Cost:
        """Of making rows of a prompt from features that are there."""
        return self._at(("insert", "", 0, 0), 1, 1, 1)

    def _at(self, key: tuple, rows: int, width: int, span: int) -> Cost:
        asked = (key, rows, width, span)
        found = self._known.get(asked)
        if found is None:
            if key not in self._tables:
                raise ValueError(messages.text("serving.not_measured", key=key))
            found = self._known[asked] = self._interpolated(key, rows, width, span)
        return found

    def _interpolated(self, key: tuple, *at: int) -> Cost:
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
        total = [0.0] * 4
        for corner, weight in corners:
            corner = (*corner, corner[1]) if tied else corner
            for n, value in enumerate(table.get(corner) or self._nearest(table, corner)):
                total[n] += weight * value
        return Cost(*total)

    @staticmethod
    def _nearest(table: dict, corner: tuple):
        """A corner that was too large to be measured: from the widest with as many rows, by its tokens."""
        rows, width, span = corner
        known = max((at for at in table if at[0] == rows), key=lambda at: (at[1], at[2]))
        more = max(1.0, width / known[1])
        us, copy, kernels, launches = table[known]
        return Cost(us * more, copy, kernels * more, launches)


# ---- measuring


def measured() -> list[dict]:
    """The grid, on the device as it is; rows by COLUMNS. Three ways that no ladder needs are left out."""
    from labkit.serving.model import Decoder

    decoder, found = Decoder(), []
    read = [(b, w, w) for b in READ_ROWS for w in READ_WIDTHS if b * w <= MOST_TOKENS]
    pieces = [(b, w, n) for b in PIECE_ROWS for w in PIECE_WIDTHS for n in PIECE_SPANS if b * w <= 1024 and w < n]
    for pinned in (False, True):
        for how, change in (("view", {}), ("gather", {"paged": True}), ("fused", {"paged": True, "fused": True})):
            settings = NAIVE.with_(pinned=pinned, **change)
            if how == "view":
                found += _grid("prefill", "own", settings, read, decoder)
            if how == "fused":
                found += _grid("prefill", how, settings, read, decoder)
            if how == "gather" or (how, pinned) == ("fused", True):
                found += _grid("piece", how, settings, pieces, decoder)
            for graph in (False, True):
                if (how, pinned, graph) in (("view", True, True), ("gather", False, True)):
                    continue
                rows, spans = (GRAPH_ROWS, GRAPH_SPANS if how != "fused" else SPANS) if graph else (ROWS, SPANS)
                sizes = [(b, 1, n) for b in rows for n in spans]
                found += _grid("decode", how, settings.with_(graph=graph), sizes, decoder)
    return found + _features(decoder)


def _entry(work: str, how: str, s: Settings, rows: int, width: int, span: int, cost) -> dict:
    sizes = (work, how, int(s.pinned), int(s.graph), rows, width, span)
    return dict(zip(COLUMNS, (*sizes, *(round(value, 3) for value in cost))))


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
    from labkit import device
    from labkit.serving.runner import Row, Runner, stopwatch

    found = []
    for pinned in (False, True):
        settings = NAIVE.with_(pinned=pinned)
        runner = Runner(settings, decoder)
        sent = runner.fetch(0)
        with stopwatch() as whole:
            if pinned:  # what the host spends on sending a piece; the copy goes on behind its back
                runner.send(sent)
                host_us = device.clock().host_us
            else:
                runner.fetch(0)
        at = whole.cost._replace(us=host_us) if pinned else whole.cost
        found.append(_entry("fetch", "", settings, 1, 1, 1, at))
    moved = runner.fetch(0).tensor
    pages = list(range(1, 129))
    with stopwatch() as plain:
        runner.prefill([Row([1] * 128, 0, pages)])
    with stopwatch() as more:
        runner.prefill([Row([1] * 128, 0, pages, moved)])
    extra = Cost(*(b - a for a, b in zip(plain.cost, more.cost)))
    found.append(_entry("insert", "", NAIVE, 1, 1, 1, extra))
    return found


def write(rows: list[dict], path: Path | None = None) -> None:
    """Writes them with a line that says what they are."""
    from labkit import device

    with open(path or file(), "w", encoding="utf-8", newline="") as text:
        text.write(
            f"# modelled times of the decoder's steps, simulated {device.chip()}; by scripts/serving_steps.py --times\n"
        )
        table = csv.DictWriter(text, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
