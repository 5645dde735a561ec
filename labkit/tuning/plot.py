"""Pictures of a tuned problem: how the best time falls, what it depends on, how far the predictor is off.

    labkit.tuning.plot.history(tuned)          # a figures.Figure: shows itself in a notebook; .save("history.svg")

Drawn as those of labkit.bench.plot: SVG with a title and a description, the same bytes on every host.
"""

from __future__ import annotations

import math

from labkit import messages
from labkit.bench.plot import drawn, rounded
from labkit.figures.svg import COLOURS, Figure
from labkit.tuning.problem import is_ordered
from labkit.tuning.search import Tuned


def _text(key: str, **fields) -> str:
    return messages.text(f"tuning.plot.{key}", **fields)


def _said(tuned: Tuned) -> list[str]:
    return [repr(tuned)]


def _values(tuned: Tuned, name: str) -> tuple:
    """Those of a parameter. Raises ValueError for one that the problem has not."""
    known = tuned.problem.parameters
    if name not in known:
        raise ValueError(messages.text("tuning.no_parameter", name=name, names=", ".join(known)))
    return known[name]


def history(tuned: Tuned) -> Figure:
    """Each evaluation, and the best one so far."""

    def draw(axes) -> None:
        times = rounded([us for _, us in tuned.history])
        at = range(1, len(times) + 1)
        axes.plot(at, times, "o", ms=4, color=COLOURS["grey"], label=_text("candidate"))
        axes.step(at, rounded(tuned.curve()), where="post", color=COLOURS["blue"], label=_text("best"))
        if tuned.start_us is not None:
            axes.axhline(rounded([tuned.start_us])[0], color=COLOURS["orange"], ls="--", label=_text("untuned"))
        axes.set_xlabel(_text("evaluations"))
        axes.set_ylabel(_us(tuned))
        axes.legend(loc="upper right", fontsize=8)

    return drawn(draw, _text("history", name=tuned.problem.name), _said(tuned))


def parameter(tuned: Tuned, name: str) -> Figure:
    """The time over one parameter: each candidate, and the least time of each value. Raises ValueError for a parameter
    that the problem has not."""
    values = _values(tuned, name)

    def draw(axes) -> None:
        place = {v: i for i, v in enumerate(values)}
        x = [place[p[name]] for p, _ in tuned.history]
        axes.plot(x, rounded([us for _, us in tuned.history]), "o", ms=4, color=COLOURS["grey"])
        least = {v: min((us for p, us in tuned.history if p[name] == v), default=None) for v in values}
        there = [v for v in values if least[v] is not None]
        line = "-" if is_ordered(values) else "_"
        axes.plot([place[v] for v in there], rounded([least[v] for v in there]), line, color=COLOURS["blue"])
        axes.set_xticks(range(len(values)), [str(v) for v in values])
        axes.set_xlabel(name)
        axes.set_ylabel(_us(tuned))

    return drawn(draw, _text("parameter", name=tuned.problem.name, parameter=name), _said(tuned))


def landscape(tuned: Tuned, x: str, y: str) -> Figure:
    """The least time for each pair of two parameters' values, written into its field; empty: nobody looked. Raises
    ValueError for a parameter that the problem has not."""
    across, down = _values(tuned, x), _values(tuned, y)
    least: dict[tuple[int, int], float] = {}
    for p, us in tuned.history:
        at = across.index(p[x]), down.index(p[y])
        least[at] = min(us, least.get(at, us))

    def draw(axes) -> None:
        finite = [us for us in least.values() if math.isfinite(us)]  # inf is how many say that a candidate failed
        low, high = min(finite, default=0.0), max(finite, default=0.0)
        for (i, j), us in least.items():
            share = float(f"{(us - low) / (high - low or 1.0):.2f}") if math.isfinite(us) else 1.0
            axes.add_patch(_field(i, j, share))
            axes.text(i, j, f"{us:.1f}", ha="center", va="center", fontsize=7)
        axes.set_xlim(-0.5, len(across) - 0.5)
        axes.set_ylim(-0.5, len(down) - 0.5)
        axes.set_xticks(range(len(across)), [str(v) for v in across])
        axes.set_yticks(range(len(down)), [str(v) for v in down])
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.grid(False)

    return drawn(draw, _text("landscape", name=tuned.problem.name, unit=_us(tuned)), _said(tuned))


def _field(i: int, j: int, share: float):
    from matplotlib.patches import Rectangle

    return Rectangle((i - 0.5, j - 0.5), 1, 1, color=COLOURS["blue"], alpha=0.1 + 0.6 * (1 - share), lw=0)


def predicted(tuned: Tuned) -> Figure:
    """What the predictor says beside what the clock gives. Raises ValueError for a problem without a predictor."""
    if tuned.problem.predict is None:
        raise ValueError(messages.text("tuning.no_predictor", name=tuned.problem.name))

    def draw(axes) -> None:
        x, y = rounded([tuned.problem.predict(p) for p, _ in tuned.history]), rounded([us for _, us in tuned.history])
        most = max((us for us in (*x, *y) if math.isfinite(us)), default=1.0)
        axes.plot([0, most], [0, most], ls="--", color=COLOURS["orange"], label=_text("alike"))
        axes.plot(x, y, "o", ms=4, color=COLOURS["blue"], label=_text("candidate"))
        axes.set_xlabel(_text("predicted_us"))
        axes.set_ylabel(_us(tuned))
        axes.legend(loc="lower right", fontsize=8)

    return drawn(draw, _text("predicted", name=tuned.problem.name), _said(tuned))


def _us(tuned: Tuned) -> str:
    return f"us ({messages.text(f'bench.{tuned.kind}')})"
