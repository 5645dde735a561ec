"""Pictures of results by matplotlib: samples over time, their distribution, a sweep, a scaling curve, a comparison.

    labkit.bench.plot.samples(m)          # a figures.Figure: shows itself in a notebook; .save("samples.svg")

Each is SVG with a title and a description in words, the same bytes on every host: values are rounded to four digits
before they are drawn, text stays text (no outlines of a font), ids are made with a fixed salt, and no date is written.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from labkit import messages
from labkit.bench.duration import number
from labkit.bench.pairs import Comparison
from labkit.bench.scaling import Scaling
from labkit.bench.sizes import Sweep
from labkit.bench.timing import Measurement
from labkit.figures.svg import COLOURS, Figure

_SETTINGS = {
    "svg.hashsalt": "labkit",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.formatter.use_locale": False,
    "path.simplify": False,
    "legend.frameon": False,
}
_SIZE = (7.6, 3.2)  # inches
_MOST_POINTS = 1000  # drawn; the words count all


def _text(key: str, **fields) -> str:
    return messages.text(f"bench.plot.{key}", **fields)


def rounded(values) -> np.ndarray:
    """Four digits: the last bits differ from host to host."""
    return np.array([float(f"{v:.4g}") for v in np.asarray(values, dtype=float).ravel()])


def drawn(draw: Callable, title: str, finding: Sequence[str]) -> Figure:
    """draw(axes) on an empty picture."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Picture

    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **_SETTINGS}):
        picture = Picture(figsize=_SIZE, layout="constrained", facecolor="white")
        canvas, axes = FigureCanvasSVG(picture), picture.add_subplot()
        draw(axes)
        axes.set_title(title, loc="left", fontsize=11)
        sink = io.StringIO()
        about = {"Date": None, "Creator": None, "Title": title, "Description": "\n".join(finding)}
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing")  # Chinese: the viewer has a font for it
            canvas.print_svg(sink, metadata=about)
    return Figure(_small(sink.getvalue()), title, "\n".join(finding))


def _small(svg: str) -> str:
    """Without the comments, the gaps between elements and the declarations in front: a notebook keeps it."""
    svg = re.sub(r"<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    return re.sub(r">\s+<", "><", svg)


def samples(m: Measurement) -> Figure:
    """Every sample in order, those of the warm-up and the outliers marked, the median with its interval."""
    median, far = m.median, m.outliers
    said = [
        _text("samples.said", count=len(m.samples), warm=len(m.warm), outliers=len(far), median=number(median.value))
    ]
    change, chance = m.drift
    if chance < 1e-3:
        said.append(_text("samples.drift", change=f"{100 * change:+.1f}"))

    def draw(axes) -> None:
        step = -(-(len(m.warm) + len(m.samples)) // _MOST_POINTS)
        every = rounded([*m.warm, *m.samples])
        x, start = np.arange(len(every)), len(m.warm)
        shown = (x % step == 0) | np.isin(x - start, far)  # an outlier is never left out
        axes.plot(
            x[shown & (x < start)], every[shown & (x < start)], "o", ms=2.5, color=COLOURS["grey"], label=_text("warm")
        )
        axes.plot(x[shown & (x >= start)], every[shown & (x >= start)], "o", ms=2.5, color=COLOURS["blue"])
        if len(far):
            axes.plot(start + far, every[start + far], "x", ms=6, color=COLOURS["red"], label=_text("outliers"))
        low, high = rounded([median.low, median.high])
        axes.axhspan(low, high, color=COLOURS["orange"], alpha=0.3, lw=0)
        axes.axhline(rounded([median.value])[0], color=COLOURS["orange"], lw=1, label=_text("median"))
        if start:
            axes.axvspan(-0.5, start - 0.5, color=COLOURS["grey"], alpha=0.12, lw=0)
        steady = every[start:] if len(m.samples) else every
        if every.max() > 5 * np.median(steady):
            axes.set_yscale("log")
        axes.set_xlabel(_text("sample"))
        axes.set_ylabel(_us(m))
        axes.legend(loc="upper right", fontsize=8)

    return drawn(draw, _text("samples.title", name=m.name), said)


def distribution(m: Measurement, percentiles: Sequence[float] = (50, 90, 99)) -> Figure:
    """The share of samples below each time, with percentiles and their intervals. Nothing is cut off."""
    made = {q: m.percentile(q) for q in percentiles}
    said = [
        _text("distribution.said", q=f"{q:g}", value=number(i.value), low=number(i.low), high=number(i.high))
        for q, i in made.items()
    ]

    def draw(axes) -> None:
        values = np.sort(rounded(m.samples))
        share = 100 * (np.arange(len(values)) + 1) / len(values)
        axes.step(values, rounded(share), where="post", color=COLOURS["blue"], lw=1.5)
        for (q, i), colour in zip(made.items(), ("orange", "green", "purple", "ochre", "red")):
            value, low, high = rounded([i.value, i.low, i.high])
            axes.plot([low, high], [q, q], color=COLOURS[colour], lw=5, alpha=0.4, solid_capstyle="butt")
            axes.plot([value], [q], "o", ms=5, color=COLOURS[colour], label=f"P{q:g}  {number(i.value)} us")
        if values[-1] > 5 * np.median(values):
            axes.set_xscale("log")
        axes.set_ylim(0, 103)
        axes.set_xlabel(_us(m))
        axes.set_ylabel(_text("share"))
        axes.legend(loc="lower right", fontsize=8)

    return drawn(draw, _text("distribution.title", name=m.name), said)


def sweep(s: Sweep) -> Figure:
    """Rate (with intervals) and latency over the sizes, and the sweet spot."""

    def draw(axes) -> None:
        rates = s.rates
        value, low, high = (rounded([getattr(r, end) for r in rates]) for end in ("value", "low", "high"))
        axes.errorbar(s.sizes, value, [value - low, high - value], fmt="o-", ms=4, capsize=3, color=COLOURS["blue"])
        axes.axhline(rounded([s.share * value.max()])[0], ls="--", lw=1, color=COLOURS["grey"])
        axes.set_xscale("log", base=2)
        axes.set_xticks(s.sizes, [str(size) for size in s.sizes])
        axes.minorticks_off()
        axes.set_ylim(0, 1.1 * high.max())
        axes.set_xlabel(_text("size"))
        axes.set_ylabel(_text("rate"), color=COLOURS["blue"])
        other = axes.twinx()
        other.spines["right"].set_visible(True)
        other.grid(False)
        tail = rounded([m.percentile(99).value for m in s.measured])
        other.plot(s.sizes, tail, "s:", ms=3, color=COLOURS["orange"])
        other.set_ylim(0, 1.1 * max(tail.max(), s.limit_us or 0))
        other.set_ylabel(f"P99, {_us(s.measured[0])}", color=COLOURS["orange"])
        if s.limit_us:
            other.axhline(s.limit_us, ls="--", lw=1, color=COLOURS["orange"])
        if (spot := s.spot) is not None:
            axes.axvline(spot, color=COLOURS["green"], lw=8, alpha=0.25, label=_text("spot", size=spot))
            axes.legend(loc="lower right", fontsize=8)

    return drawn(draw, _text("sweep.title", name=s.name), repr(s).split("\n"))


def scaling(s: Scaling, fit: bool = True) -> Figure:
    """The rate over the number of workers: measured, ideal, and the law fitted to it, where there are points enough."""
    law = s.fit() if fit and len(s.counts) >= 3 else None

    def draw(axes) -> None:
        counts, first = np.array(s.counts, dtype=float), s.points[0]
        low, high = (rounded([getattr(p.rate, end) for p in s.points]) for end in ("low", "high"))
        value = rounded(s.rates)
        fine = np.linspace(counts[0], counts[-1], 60)
        axes.plot(fine, fine * first.rate.value / first.count, "--", lw=1, color=COLOURS["grey"], label=_text("ideal"))
        if law:
            axes.plot(fine, rounded(law.rate(fine)), "-", lw=1.2, color=COLOURS["orange"], label=_text("law"))
        axes.errorbar(
            counts,
            value,
            [value - low, high - value],
            fmt="o",
            ms=5,
            capsize=3,
            color=COLOURS["blue"],
            label=messages.text(f"bench.{s.time_kind}"),
        )
        axes.set_xticks(s.counts)
        axes.set_ylim(0, 1.15 * max(value.max(), high.max()) + 0.25 * (counts[-1] * value[0] / counts[0] - value.max()))
        axes.set_xlabel(messages.text(f"bench.by.{s.by}"))
        axes.set_ylabel(_text("rate"))
        axes.legend(loc="upper left", fontsize=8)

    said = repr(s).split("\n")
    if law:
        said.append(_text("law.said", contention=f"{100 * law.contention:.1f}", coherence=f"{100 * law.coherence:.2f}"))
    return drawn(draw, _text("scaling.title", name=s.name), said)


def comparison(*compared: Comparison) -> Figure:
    """The ratio of each pair with its interval, beside 1. Raises ValueError without one."""
    if not compared:
        raise ValueError(_text("nothing"))

    def draw(axes) -> None:
        colours = {"slower": "red", "faster": "green", "same": "grey"}
        marks = {"slower": ">", "faster": "<", "same": "o"}
        for i, c in enumerate(reversed(compared)):
            value, low, high = rounded([100 * (x - 1) for x in (c.ratio.value, c.ratio.low, c.ratio.high)])
            axes.errorbar(
                [value],
                [i],
                xerr=[[max(0.0, value - low)], [max(0.0, high - value)]],
                fmt=marks[c.verdict],
                ms=6,
                capsize=3,
                color=COLOURS[colours[c.verdict]],
            )
        axes.axvline(0, color="black", lw=1)
        axes.set_yticks(range(len(compared)), [f"{c.a} - {c.b}" for c in reversed(compared)])
        axes.set_ylim(-0.6, len(compared) - 0.4)
        axes.set_xlabel(_text("change"))

    return drawn(draw, _text("comparison.title"), [repr(c) for c in compared])


def _us(m: Measurement) -> str:
    return _text("us", kind=messages.text(f"bench.{m.time_kind}"))
