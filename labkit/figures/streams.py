"""The device's timeline: one lane a stream, one bar a piece of work, the host's calls on a lane of their own above.

Contract. `spans` are those of labkit.device.timeline(), or {name: spans} for several processes, which then share the
scale. A bar's colour is the engine that works, and its words say so too. Neighbours too small to see become one bar
with their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labkit.figures.svg import WIDTH, Canvas, Figure, number
from labkit.figures.timeline import time_axis
from labkit.figures.words import join, percent, shorten, time_text
from labkit.messages import text

LEFT, RIGHT, EDGE = 126, 682, WIDTH - 16
PITCH, BAR = 32, 20
FILLS = {
    "vector": "purple",
    "cube": "orange",
    "cores": "violet",
    "copy in": "blue",
    "copy out": "green",
    "link": "teal",
}


@dataclass
class _Lane:
    label: str
    spans: list


@dataclass
class _Bar:
    start: float
    end: float
    engine: str
    name: str
    count: int = 1


def stream_timeline(spans, t0: float = 0.0, t1: float | None = None, title: str | None = None) -> Figure:
    """The Gantt chart of device work in the window t0 to t1 (us).
    Raises ValueError for an empty window or nothing in it.
    """
    groups: Mapping[str, Sequence] = spans if isinstance(spans, Mapping) else {"": spans}
    if not any(groups.values()) and t1 is None:
        return _nothing(title or text("fig_stream_title"))
    high = max((s.end_us for group in groups.values() for s in group), default=0.0) if t1 is None else float(t1)
    low = float(t0)
    if not high > low:
        raise ValueError(f"an empty window: t0={low} us, t1={high} us")
    inside = {name: [s for s in group if s.end_us > low and s.start_us < high] for name, group in groups.items()}
    if not any(inside.values()):
        raise ValueError("no device work in the window")
    title = title or text("fig_stream_title")
    finding = _finding(inside, low, high)
    us_per_px = (high - low) / (RIGHT - LEFT)
    c = Canvas()
    y = c.heading(title, finding) + 16
    c.text(EDGE, y - 6, text("fig_busy"), "m s e")
    top, rows, behind = y, [], c.mark()
    for name, group in inside.items():
        if name:
            c.text(16, y + 12, shorten(name, LEFT + 300), "b")
            y += 18
        _host(c, [s.host_us for s in group if low <= s.host_us <= high], y, low, us_per_px)
        y += 24
        for lane in _lanes(group):
            busy = _union([(max(s.start_us, low), min(s.end_us, high)) for s in lane.spans])
            _lane(c, lane, y + (PITCH - BAR) / 2, low, high, us_per_px, busy)
            rows.append(
                join(
                    name,
                    text(
                        "fig_stream_row",
                        stream=lane.label,
                        n=f"{len(lane.spans):,}",
                        us=time_text(busy),
                        share=percent(busy / (high - low)),
                    ),
                )
            )
            y += PITCH
    time_axis(c, low, high, LEFT, RIGHT, top, y, behind, text("fig_modelled"))
    return c.figure(title, "\n".join([finding, *rows]), _legend(c, inside, y + 56))


def _nothing(title: str) -> Figure:
    """On a real NPU there is no virtual timeline; a notebook goes on all the same."""
    c = Canvas()
    return c.figure(title, text("fig_stream_none"), c.heading(title, text("fig_stream_none")) + 8)


def _lanes(group: Sequence) -> list[_Lane]:
    """Streams get letters in the order of their first work: their numbers depend on how many were made before."""
    several = len({s.device for s in group}) > 1
    lanes: dict[tuple[int, int], _Lane] = {}
    for s in group:
        key = (s.device, s.stream)
        if key not in lanes:
            made = sum(1 for device, stream in lanes if device == s.device and stream)
            label = text("fig_stream", letter=chr(ord("A") + made % 26)) if s.stream else text("fig_stream_default")
            lanes[key] = _Lane(f"{s.device}: {label}" if several else label, [])
        lanes[key].spans.append(s)
    return [lanes[key] for key in sorted(lanes, key=lambda key: (key[0], bool(key[1])))]


def _finding(inside: Mapping[str, Sequence], low: float, high: float) -> str:
    """How long, how busy, and how much at the same time; of several processes the busiest."""
    best = max(inside.values(), key=lambda group: _union([(s.start_us, s.end_us) for s in group]))
    clipped = [(max(s.start_us, low), min(s.end_us, high)) for s in best]
    once = _union(clipped)
    return text(
        "fig_stream_finding",
        n=f"{sum(map(len, inside.values())):,}",
        us=time_text(high - low),
        busy=percent(once / (high - low)),
        both=percent(_shared(clipped) / (high - low)),
    )


def _union(pieces: Sequence[tuple[float, float]]) -> float:
    """Length of the union of intervals."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(pieces):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _shared(pieces: Sequence[tuple[float, float]]) -> float:
    """How long two or more intervals hold at the same time."""
    edges = sorted(
        [(start, 1) for start, end in pieces if end > start] + [(end, -1) for start, end in pieces if end > start],
        key=lambda e: (e[0], e[1]),
    )
    total, depth, since = 0.0, 0, 0.0
    for at, step in edges:
        if depth >= 2:
            total += at - since
        depth, since = depth + step, at
    return total


def _host(c: Canvas, issued: list[float], y: float, low: float, us_per_px: float) -> None:
    c.text(16, y + 14, text("fig_host"), "b")
    c.line(LEFT, y + 18, RIGHT, y + 18, "g")
    places = sorted({round(LEFT + (at - low) / us_per_px, 1) for at in issued})
    c.path("".join(f"M{number(x)} {number(y + 8)}V{number(y + 18)}" for x in places), "k")


def _bars(lane: _Lane, low: float, high: float, us_per_px: float) -> list[_Bar]:
    bars: list[_Bar] = []
    for s in sorted(lane.spans, key=lambda s: s.start_us):
        start, end = max(s.start_us, low), min(s.end_us, high)
        last = bars[-1] if bars else None
        if last and last.engine == s.engine and (end - start) / us_per_px < 2 and (start - last.end) / us_per_px < 0.5:
            last.end, last.count = max(last.end, end), last.count + 1
        else:
            bars.append(_Bar(start, end, s.engine, s.name.removeprefix("aten::").removeprefix("c10d::")))
    return bars


def _lane(c: Canvas, lane: _Lane, y: float, low: float, high: float, us_per_px: float, busy: float) -> None:
    c.text(16, y + 14, lane.label, "b")
    c.text(EDGE, y + 14, percent(busy / (high - low)), "e b")
    c.rect(LEFT, y, RIGHT - LEFT, BAR, cls="q", rx=2)
    for bar in _bars(lane, low, high, us_per_px):
        x, wide = LEFT + (bar.start - low) / us_per_px, max((bar.end - bar.start) / us_per_px, 0.6)
        fill = FILLS.get(bar.engine, "grey")
        words = text("fig_merged", n=f"{bar.count:,}") if bar.count > 1 else bar.name
        c.rect(
            x,
            y,
            wide,
            BAR,
            f"{fill}/bars" if bar.count > 1 else fill,
            cls="d" if wide > 5 else "",
            title=f"{words} ({bar.engine}) {time_text(bar.start)}–{time_text(bar.end)} us",
        )
        if bar.count == 1 and wide > 18:
            c.inside(x, y, wide, BAR, bar.name, fill, size=11)


def _legend(c: Canvas, inside: Mapping[str, Sequence], y: float) -> float:
    x = 16.0
    for engine in [e for e in FILLS if any(s.engine == e for group in inside.values() for s in group)]:
        words = text("fig_engine_" + engine.replace(" ", "_"))
        c.rect(x, y - 10, 18, 12, FILLS[engine], rx=2)
        c.text(x + 24, y, words, "s")
        x += 24 + 8 * len(words) + 30
    return y + 16
