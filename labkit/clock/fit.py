"""Where the clock's fitted constants come from: the published kernels, and nothing else.

Each constant below has a value that the documents or the instruction curves give (`start`); the fit moves it as far as the
published cases that are marked `fitted` speak for it. Errors are log(modelled / measured) of their task times and pipes, so
that twice too long and half too short count the same. `labkit clock fit --write` puts the outcome into the chip's table.
"""
from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from labkit import chips, paths, runner
from labkit.clock.accuracy import Accuracy, accuracy, quantile
from labkit.clock.cases import cases

# constant -> (start, how far it may be off: the factor that is one standard deviation, lowest, highest)
# Starts of msopprof (bandwidths) and mskpp (curves) are right within a quarter or a half; the others start at "nothing is lost", which
# says little.
CONSTANTS: dict[str, tuple[float, float, float, float]] = {
    "gm.hbm": (1.8e12, 1.25, 1.0e12, 2.0e12),
    "gm.l2": (8.0e12, 1.5, 4.0e12, 9.0e12),
    "gm.give_back": (1.0, 4, 0.5, 3.0),
    "gm.split": (1.0, 4, 1.0, 3.0),
    "gm.same_cost": (0.1, 8, 0.05, 1.0),
    "dma.to_ub.row": (1.0, 4, 0.5, 12.0),
    "dma.to_ub.row_missed": (4.0, 4, 0.5, 20.0),
    "dma.to_ub.unaligned": (1.0, 4, 1.0, 3.0),
    "dma.to_l1_nz.row": (1.0, 4, 0.5, 12.0),
    "dma.to_l1_nz.row_missed": (3.0, 4, 0.5, 20.0),
    "dma.to_l1_nz.slow": (45.5, 1.25, 30.0, 90.0),
    "cube.l1_shared": (1.0, 4, 1.0, 2.0),
    "launch.mixed": (3.0e-6, 2, 1.0e-6, 8.0e-6),
}
_LONG = ("add/0", "matmul/0")  # five seconds each, and a fit runs each a hundred times
_LONGER = ("add/1", "matmul/1", "matmul/2", "matmul/3", "matmul_gelu/fused", "gemm/7680", "catlass/4")  # left out too where there are many fits


# How far a figure may be off, one standard deviation: the model is no better than a tenth. What the cases do not determine
# stays near its start, and no constant goes far for the sake of a single case.
_TASK, _PIPE = 0.1, 0.2
_STEP = math.log(1.03)  # of the slopes: with less the grain of the model shows (which of two transfers comes first)


@dataclass
class Fit:
    """constants: what came out; before, after: mean |error| of the cases that it saw, at the start and then; runs: evaluations."""
    constants: dict[str, float]
    before: float
    after: float
    runs: int


def fit(without: str = "", steps: int = 10, say: Callable[[str], None] = lambda _: None, everything: bool = False) -> Fit:
    """The most likely constants, by scipy's bounded least squares (soft L1) on their logarithms, in `steps` steps at most.

    First each constant is tried at twice its value and at half, as long as that helps: where another bottleneck hides it, a slope
    says nothing. without: a source group that must not be seen. everything: also the cases that are not marked as fitted, as a
    fit which leaves a group out has fewer; without the longest. Deterministic.
    """
    import numpy as np
    from scipy.optimize import least_squares
    skipped = _LONG + _LONGER * everything
    chosen = [c.name for c in cases() if c.group != without and (everything or c.fitted) and not c.name.startswith(skipped)]
    names = list(CONSTANTS)
    start, factor, lowest, highest = np.array(list(CONSTANTS.values())).T
    sure = np.log(factor)
    errors: list[float] = []  # of the evaluations

    @functools.cache
    def evaluate(logs: tuple[float, ...]) -> tuple[np.ndarray, float]:
        found = _errors(_trial(chosen, f"fit-{without}-{len(errors)}", dict(zip(names, start * np.exp(logs)))))
        errors.append(sum(abs(e) for e, _ in found) / len(found))
        return np.array([e / sigma for e, sigma in found] + [x / s for x, s in zip(logs, sure)]), errors[-1]

    def slopes(at: np.ndarray) -> np.ndarray:
        here, error = evaluate(tuple(at))
        say(f"run {len(errors)}: error {error:.4f}, " + ", ".join(f"{n} {v:.3g}" for n, v in zip(names, start * np.exp(at))))
        each = np.eye(len(at)) * np.where(at + _STEP < np.log(highest / start), _STEP, -_STEP)
        return np.stack([(evaluate(tuple(at + d))[0] - here) / d.sum() for d in each], axis=1)

    def cost(at: np.ndarray) -> float:
        """What least_squares minimises."""
        return float((np.sqrt(1 + evaluate(tuple(at))[0] ** 2) - 1).sum())

    begin = np.zeros(len(names))
    for move in (d * sign for d in np.eye(len(names)) * math.log(2) for sign in (1, -1)):
        while (np.log(lowest / start) <= begin + move).all() and (begin + move <= np.log(highest / start)).all() and cost(begin + move) < cost(begin) * 0.99:
            begin = begin + move
    bounds = (np.log(lowest / start) - 1e-9, np.log(highest / start) + 1e-9)
    found = least_squares(lambda x: evaluate(tuple(x))[0], begin, slopes, bounds, loss="soft_l1", max_nfev=steps, xtol=1e-3, ftol=1e-3)
    return Fit(dict(zip(names, (start * np.exp(found.x)).tolist())), errors[0], evaluate(tuple(found.x))[1], len(errors))


def cross(groups: Iterable[str] = (), say: Callable[[str], None] = lambda _: None, steps: int = 4) -> dict[str, Accuracy]:
    """For each source group, the errors of its cases by constants that were fitted without it."""
    names = list(groups) or sorted({c.group for c in cases()})
    found = {}
    for group in names:
        f = fit(group, steps, everything=True)
        chosen = [c.name for c in cases() if c.group == group and not c.name.startswith(_LONG)]
        found[group] = _trial(chosen, f"cross-{group}", f.constants)
        errors = found[group].errors()
        say(f"{group}: fitted on the others to {f.after:.3f} in {f.runs} runs; its own {len(errors)} cases: median {errors[len(errors) // 2] * 100:.1f} %" if errors else f"{group}: no task times")
    return found


def said_of(found: dict[str, Accuracy]) -> str:
    """The outcome of cross() in a sentence."""
    errors = sorted(e for a in found.values() for e in a.errors())
    return (f"cases by constants that were fitted without their group: {len(errors)}, median error {quantile(errors, 0.5) * 100:.1f} %, "
            f"90th percentile {quantile(errors, 0.9) * 100:.1f} %")


def write_cross(found: dict[str, Accuracy]) -> None:
    """data/clock_cross.csv: each case's error by constants that had not seen its group."""
    lines = ["group_left_out,case,error_percent"]
    lines += [f"{group},{r.case},{r.error * 100:.1f}" for group, a in found.items() for r in a.rows if r.metric == "task"]
    (paths.data_dir() / "clock_cross.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write(constants: dict[str, float], chip: str = chips.DEFAULT) -> None:
    """Puts the values into the chip's table; what stands beside them stays. Chips that have a share of its bandwidths keep the share."""
    home, old = paths.twin_dir() / "chips", chips.flat(chip)
    for path in sorted(home.glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        for name, value in constants.items():
            text, count = _with(text, name, lambda was, name=name, value=value: value if path.stem == chip else was * value / old[name])
            if not count and path.stem == chip:
                raise ValueError(f"{path.name} has no {name}")
        path.write_text(text, encoding="utf-8")


def _with(text: str, name: str, change: Callable[[float], float]) -> tuple[str, int]:
    """A TOML text with one value changed, and how many there were (0 or 1)."""
    section, _, key = name.rpartition(".")
    pattern = rf"(\[{re.escape(section)}\][^\[]*?^{re.escape(key)} = )([^\s#]+)( +(?=#))?"
    return re.subn(pattern, lambda m: m[1] + f"{change(float(m[2])):.4g}".ljust(len(m[2] + (m[3] or "")) if m[3] else 0), text, count=1, flags=re.M)


def _trial(chosen: list[str], name: str, constants: dict[str, float]) -> Accuracy:
    result = accuracy(chosen, chip=_table(name, constants), models=False)
    runner.forget(name)
    return result


def _errors(a: Accuracy) -> list[tuple[float, float]]:
    """(log error, its standard deviation) of each figure that a fit looks at."""
    task = {r.case: r.measured for r in a.rows if r.metric == "task"}
    return [(math.log(max(r.modelled, 1e-9) / r.measured), _TASK if r.metric == "task" else _PIPE) for r in a.rows
            if r.metric in ("task", "MTE1", "MTE2", "M", "V") and r.measured > 0.05 * task.get(r.case, 0)]


def _table(name: str, constants: dict[str, float]) -> str:
    table: dict = {"base": chips.DEFAULT}
    for key, value in constants.items():
        node = table
        *path, last = key.split(".")
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    return chips.variant(name, table)
