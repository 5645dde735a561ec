"""Where the clock's fitted constants come from: the published kernels, and nothing else.

Each constant below has a value that the documents or the instruction curves give (`start`); the fit moves it as far as
the published cases that are marked `fitted` support it. Errors are log(modelled / measured) of their task times and
pipes, so that twice too long and half too short count the same. `labkit clock fit --write` puts the outcome into the
chip's table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from labkit import chips, paths
from labkit.calibration.accuracy import Accuracy, accuracy, quantile
from labkit.calibration.cases import cases
from labkit.launch import runner

# constant -> (start, how far it may be off: the factor that is one standard deviation, lowest, highest) Starts of
# msopprof (bandwidths) and mskpp (curves) are right within a quarter or a half; the others start at "nothing is lost",
# which says little.
CONSTANTS: dict[str, tuple[float, float, float, float]] = {
    "gm.hbm": (1.8e12, 1.25, 1.0e12, 2.0e12),
    "gm.l2": (8.0e12, 1.5, 4.0e12, 9.0e12),
    "gm.l2_write": (4.0e12, 2, 2.0e12, 8.0e12),
    "gm.give_back": (1.0, 4, 0.5, 3.0),
    "gm.split": (1.0, 4, 1.0, 3.0),
    "gm.same_cost": (0.1, 8, 0.05, 1.0),
    "dma.to_ub.row": (1.0, 4, 0.5, 12.0),
    "dma.to_ub.row_missed": (4.0, 4, 0.5, 20.0),
    "dma.to_l1_nz.row": (1.0, 4, 0.5, 12.0),
    "dma.to_l1_nz.row_missed": (3.0, 4, 0.5, 20.0),
    "dma.to_l1_nz.slow": (45.5, 1.25, 30.0, 90.0),
    "cube.l1_shared": (1.0, 4, 1.0, 2.0),
    "launch.mixed": (3.0e-6, 2, 1.0e-6, 8.0e-6),
}
# What a core and a launch cost before any data moves. Nothing else bears on the figures that they are taken from, so
# they are found first, and on those alone: times of S, of cores and of launches.
SCALARS: dict[str, tuple[float, float, float, float]] = {
    # "several hundred nanoseconds" for TPipe alone: CANN's guide, chapter on programming with static tensors
    "scalar.start": (925.0, 2, 50.0, 3000.0),
    "scalar.tque": (10.0, 8, 1.0, 60.0),
    "scalar.get": (11.0, 4, 2.0, 40.0),
    "scalar.set": (11.0, 4, 2.0, 40.0),
    "launch.head": (0.5e-6, 4, 0.1e-6, 2e-6),
    "launch.second": (0.2e-6, 8, 0.01e-6, 2e-6),
    "launch.per_core": (0.02e-6, 8, 0.001e-6, 0.2e-6),
    "launch.uneven": (0.02, 8, 0.001, 0.2),
}
_SCALAR_CASES = ("short/relu", "short/mul", "short/where/1", "short/equal/1", "launch/", "add/0")
_SCALAR_FIGURES = ("S", "aiv.S", "gap", "short/where/1 task", "short/equal/1 task")
_FIGURES = ("task", "MTE1", "MTE2", "M", "V", "aiv.MTE2", "aiv.MTE3")
# Seconds each, and a fit runs each a hundred times.
_LONG = ("add/0", "matmul/0")
_LONGER = ("add/1", "matmul/1", "matmul/2", "matmul/3", "matmul_gelu/fused", "gemm/7680", "catlass/4")
# element by element, the same for each batch
_LONGER += tuple(f"short/{name}/{batch}" for name in ("where", "equal") for batch in (2, 4, 8, 16, 32, 64))


# How far a figure may be off, one standard deviation: the model is no better than a tenth. What the cases do not
# determine stays near its start, and no constant goes far for the sake of a single case.
_TASK, _PIPE = 0.1, 0.2
_STEP = math.log(1.03)  # of the slopes: with less the grain of the model shows (which of two transfers comes first)


@dataclass
class Fit:
    """constants: what came out; before, after: mean |error| of the cases that it saw,
    at the start and then; runs: evaluations.
    """

    constants: dict[str, float]
    before: float
    after: float
    runs: int


class _Trials:
    """The cases under a set of constants: log errors and their standard deviations. Each set is tried once.

    constants: those that are looked for; figures: the metrics that they are judged by, of all cases or of one; known:
    others that were found.
    """

    def __init__(self, cases_: list[str], label: str, constants=None, figures=_FIGURES, known=None):
        self.names, self.label = cases_, label
        self.constants, self.figures, self.found = constants or CONSTANTS, figures, known or {}
        self.known: dict[tuple[float, ...], list[tuple[str, float, float]]] = {}

    def __call__(self, logs: tuple[float, ...]) -> list[tuple[str, float, float]]:
        """(source group, error, standard deviation) of each figure; logs: of the constants over their starts."""
        if logs not in self.known:
            values = {name: start * math.exp(x) for (name, (start, *_)), x in zip(self.constants.items(), logs)}
            found = _trial(self.names, f"{self.label}-{len(self.known)}", values | self.found)
            task = {r.case: r.measured for r in found.rows if r.metric == "task"}
            self.known[logs] = [
                (r.group, math.log(max(r.modelled, 1e-9) / r.measured), _TASK if r.metric == "task" else _PIPE)
                for r in found.rows
                if (r.metric in self.figures or f"{r.case} {r.metric}" in self.figures)
                and r.measured > 0.05 * task.get(r.case, 0)
            ]
        return self.known[logs]


def fit(steps: int = 8, say: Callable[[str], None] = lambda _: None, only: Iterable[str] = ()) -> Fit:
    """The most likely constants for the cases that are marked as fitted, in `steps` steps at most. Deterministic.
    It begins with what the chip's table holds now. only: those that a change of the model concerns; the others stay.
    """
    fitted = [c.name for c in cases() if c.fitted]
    only = list(only)  # read twice
    wanted = {name: CONSTANTS[name] for name in only or CONSTANTS}
    scalars = {} if only else _fit_scalars(fitted, "", say)
    # a single core's way in, which nothing else shows alone, is worth its seconds
    longer = tuple(n for n in _LONGER if n != "matmul/1")
    quick = [n for n in fitted if not n.startswith((*_LONG, *longer, "launch/"))]
    trials = _Trials(quick, "fit", wanted, known=scalars)
    found = _fit(trials, "", steps, True, say, _table_logs(wanted))
    return replace(found, constants=scalars | found.constants)


def _table_logs(constants: dict[str, tuple[float, float, float, float]]) -> list[float]:
    table = chips.flat()
    return [math.log(table[name] / start) for name, (start, *_) in constants.items()]


def _fit_scalars(names: list[str], without: str, say: Callable[[str], None]) -> dict[str, float]:
    chosen = [n for n in names if n.startswith(_SCALAR_CASES) and not n.startswith(_LONGER)]
    if not chosen:
        return {}
    trials = _Trials(chosen, f"scalars-{without}", SCALARS, _SCALAR_FIGURES)
    return _fit(trials, without, 8, True, say, begin=[0.0] * len(SCALARS)).constants  # S is linear in them


def cross(
    groups: Iterable[str] = (), say: Callable[[str], None] = lambda _: None, steps: int = 4
) -> dict[str, Accuracy]:
    """For each source group, the errors of its cases by constants that were fitted to all other groups.

    All cases take part, also those not marked as fitted: with a group left out there are few enough. The slopes are
    measured once for each fit and then follow by Broyden's formula, since there are many fits.
    """
    names = list(groups) or sorted({c.group for c in cases() if not c.name.startswith("launch/")})
    every = [c.name for c in cases()]
    # The scalar constants come from few groups: for the others those of all are right.
    all_scalars, theirs = _fit_scalars(every, "", say), {c.group for c in cases() if c.name.startswith(_SCALAR_CASES)}
    trials = _Trials([n for n in every if not n.startswith((*_LONG, *_LONGER, "launch/"))], "cross", known=all_scalars)
    # From where the fit has left the chip's table; what only this group says goes back to its start.
    found, begin = {}, _table_logs(CONSTANTS)
    for group in names:
        scalars = _fit_scalars(every, group, say) if group in theirs else all_scalars
        f = _fit(trials, group, steps, True, lambda _: None, begin)
        chosen = [c.name for c in cases() if c.group == group and not c.name.startswith(_LONG)]
        found[group] = _trial(chosen, f"cross-{group}", f.constants | scalars)
        errors = found[group].errors()
        say(
            f"{group}: fitted on the others to {f.after:.3f} ({len(trials.known)} runs so far); its own "
            f"{len(errors)} cases: median {quantile(errors, 0.5) * 100:.1f} %"
            if errors
            else f"{group}: no task times"
        )
    return found


def _fit(
    trials: _Trials, without: str, steps: int, once: bool, say: Callable[[str], None], begin: list[float] | None = None
) -> Fit:
    """scipy's bounded least squares (soft L1) over the constants' logarithms, without a source group.

    First each constant is tried at twice its value and at half, as long as that helps: where another bottleneck hides
    it, a slope says nothing. begin: from there instead. once: slopes are measured once.
    """
    import numpy as np
    from scipy.optimize import least_squares

    names = list(trials.constants)
    start, factor, lowest, highest = np.array(list(trials.constants.values())).T
    sure = np.log(factor)
    low, high = np.log(lowest / start), np.log(highest / start)
    used: list[tuple[float, ...]] = []

    def residuals(at: np.ndarray) -> np.ndarray:
        used.append(tuple(at.tolist()))
        return np.array(
            [e / sigma for group, e, sigma in trials(used[-1]) if group != without] + [x / s for x, s in zip(at, sure)]
        )

    def error(at: np.ndarray) -> float:
        errors = [abs(e) for group, e, _ in trials(tuple(at.tolist())) if group != without]
        return sum(errors) / len(errors)

    def cost(at: np.ndarray) -> float:
        """What least_squares minimises."""
        return float((np.sqrt(1 + residuals(at) ** 2) - 1).sum())

    last: dict[str, np.ndarray] = {}

    def slopes(at: np.ndarray) -> np.ndarray:
        here = residuals(at)
        say(
            f"run {len(trials.known)}: error {error(at):.4f}, "
            + ", ".join(f"{n} {v:.3g}" for n, v in zip(names, start * np.exp(at)))
        )
        if once and last:
            step = at - last["at"]
            last["slopes"] = last["slopes"] + np.outer(here - last["here"] - last["slopes"] @ step, step) / max(
                float(step @ step), 1e-12
            )
        else:
            each = np.eye(len(at)) * np.where(at + _STEP < high, _STEP, -_STEP)
            last["slopes"] = np.stack([(residuals(at + d) - here) / d.sum() for d in each], axis=1)
        last["at"], last["here"] = at.copy(), here
        return last["slopes"]

    at = np.zeros(len(names)) if begin is None else np.clip(np.array(begin), low, high)
    for k, move in enumerate(d * sign for d in np.eye(len(names)) * math.log(2) for sign in (1, -1) if begin is None):
        if k % 2 == 0:
            done = f"{k // 2 + 1} of {len(names)} constants, {len(trials.known)} runs"
            say(f"{names[k // 2]} at twice and half its value: {done}")
        while (low <= at + move).all() and (at + move <= high).all() and cost(at + move) < cost(at) * 0.99:
            at = at + move
    found = least_squares(
        residuals, at, slopes, (low - 1e-9, high + 1e-9), loss="soft_l1", max_nfev=steps, xtol=1e-3, ftol=1e-3
    )
    return Fit(
        dict(zip(names, (start * np.exp(found.x)).tolist())),
        error(np.zeros(len(names))),
        error(found.x),
        len(set(used)),
    )


def said_of(found: dict[str, Accuracy]) -> str:
    """The outcome of cross() in a sentence."""
    errors = sorted(e for a in found.values() for e in a.errors())
    return (
        f"cases by constants that were fitted without their group: {len(errors)}, median error "
        f"{quantile(errors, 0.5) * 100:.1f} %, "
        f"90th percentile {quantile(errors, 0.9) * 100:.1f} %"
    )


def write_cross(found: dict[str, Accuracy]) -> None:
    """data/clock_cross.csv: each case's error by constants that had not seen its group."""
    lines = ["group_left_out,case,error_percent"]
    lines += [
        f"{group},{r.case},{r.error * 100:.1f}" for group, a in found.items() for r in a.rows if r.metric == "task"
    ]
    (paths.data_dir() / "clock_cross.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write(constants: dict[str, float], chip: str = chips.DEFAULT) -> None:
    """Puts the values into the chip's table; what stands beside them stays.
    Chips that have a share of its bandwidths keep the share.
    """
    home, old = paths.twin_dir() / "chips", chips.flat(chip)
    for path in sorted(home.glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        for name, value in constants.items():
            text, count = _with(
                text, name, lambda was, name=name, value=value: value if path.stem == chip else was * value / old[name]
            )
            if not count and path.stem == chip:
                raise ValueError(f"{path.name} has no {name}")
        path.write_text(text, encoding="utf-8")


def _with(text: str, name: str, change: Callable[[float], float]) -> tuple[str, int]:
    """A TOML text with one value changed, and how many there were (0 or 1)."""
    section, _, key = name.rpartition(".")
    pattern = rf"(\[{re.escape(section)}\][^\[]*?^{re.escape(key)} = )([^\s#]+)( +(?=#))?"
    return re.subn(
        pattern,
        lambda m: m[1] + f"{change(float(m[2])):.4g}".ljust(len(m[2] + (m[3] or "")) if m[3] else 0),
        text,
        count=1,
        flags=re.M,
    )


def _trial(chosen: list[str], name: str, constants: dict[str, float]) -> Accuracy:
    used = {c.chip for c in cases() if c.name in chosen or c.name.startswith(tuple(chosen))}
    tables = {chip: _table(f"{name}-{chip}", constants, chip) for chip in used}
    result = accuracy(chosen, tables, models=False)
    for table in tables.values():
        runner.forget(table)
    return result


def _table(name: str, constants: dict[str, float], chip: str = chips.DEFAULT) -> str:
    """A chip's table with these constants, which are the default chip's; the chip's own keep their share of them."""
    table: dict = {"base": chip}
    mine, default = chips.flat(chip), chips.flat()
    for key, value in constants.items():
        value = value * mine[key] / default[key]
        node = table
        *path, last = key.split(".")
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    return chips.variant(name, table)
