"""Pictures of a tuned problem, drawn with matplotlib: how the best time falls, where the time depends on what.

Each takes a Tuned and an axis to draw on (None: a new figure) and gives back the axis.
"""

from __future__ import annotations

from labkit.tuning.problem import is_ordered
from labkit.tuning.search import Tuned


def _axis(ax):
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(6.4, 3.2), layout="constrained")[1]


def history(tuned: Tuned, ax=None):
    """Each evaluation, and the best one so far."""
    ax = _axis(ax)
    times = [us for _, us in tuned.history]
    at = range(1, len(times) + 1)
    ax.plot(at, times, "o", color="tab:gray", ms=4, label="a candidate")
    ax.step(at, tuned.curve(), where="post", color="tab:blue", label="the best so far")
    if tuned.start_us is not None:
        ax.axhline(tuned.start_us, color="tab:orange", ls="--", label="untuned")
    ax.set(xlabel="evaluations", ylabel=f"us ({tuned.kind})", title=tuned.problem.name)
    ax.legend()
    return ax


def parameter(tuned: Tuned, name: str, ax=None):
    """The time over one parameter: each candidate, and the least time of each value."""
    ax = _axis(ax)
    values = tuned.problem.parameters[name]
    place = {v: i for i, v in enumerate(values)}
    ax.plot([place[p[name]] for p, _ in tuned.history], [us for _, us in tuned.history], "o", color="tab:gray", ms=4)
    least = {v: [us for p, us in tuned.history if p[name] == v] for v in values}
    there = [v for v in values if least[v]]
    ax.plot(
        [place[v] for v in there], [min(least[v]) for v in there], "-" if is_ordered(values) else "_", color="tab:blue"
    )
    ax.set_xticks(range(len(values)), [str(v) for v in values])
    ax.set(xlabel=name, ylabel=f"us ({tuned.kind})", title=tuned.problem.name)
    return ax


def landscape(tuned: Tuned, x: str, y: str, ax=None):
    """The least time for each pair of two parameters' values; white: nobody looked."""
    import numpy as np

    ax = _axis(ax)
    across, down = tuned.problem.parameters[x], tuned.problem.parameters[y]
    grid = np.full((len(down), len(across)), np.nan)
    for p, us in tuned.history:
        i, j = down.index(p[y]), across.index(p[x])
        grid[i, j] = us if np.isnan(grid[i, j]) else min(us, grid[i, j])
    shown = ax.imshow(grid, origin="lower", aspect="auto", cmap="viridis_r")
    ax.figure.colorbar(shown, ax=ax, label=f"us ({tuned.kind})")
    ax.set_xticks(range(len(across)), [str(v) for v in across])
    ax.set_yticks(range(len(down)), [str(v) for v in down])
    ax.set(xlabel=x, ylabel=y, title=tuned.problem.name)
    return ax


def predicted(tuned: Tuned, ax=None):
    """What the predictor says beside what the clock gives. Raises ValueError for a problem without a predictor."""
    if tuned.problem.predict is None:
        raise ValueError(f"{tuned.problem.name} has no predictor")
    ax = _axis(ax)
    x, y = [tuned.problem.predict(p) for p, _ in tuned.history], [us for _, us in tuned.history]
    most = max(*x, *y)
    ax.plot([0, most], [0, most], color="tab:orange", ls="--", label="alike")
    ax.plot(x, y, "o", color="tab:blue", ms=4, label="a candidate")
    ax.set(xlabel="predicted us", ylabel=f"us ({tuned.kind})", title=tuned.problem.name)
    ax.legend()
    return ax
