"""Where the clock's fitted constants come from: the published kernels, and nothing else.

Each constant below has a value that the documents or the instruction curves give (`start`); the fit moves it to where the
published cases that are marked `fitted` come out best. What a table says beside a constant is its source; this is the way
from the source to the number. The error of a fit is the mean of |log(modelled / measured)| over its cases' task times and
pipes, so that twice too long and half too short count the same.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from labkit import chips, paths, runner
from labkit.clock.accuracy import Accuracy, accuracy
from labkit.clock.cases import cases

# constant -> (start, lowest, highest). Starts: msopprof's bandwidths, mskpp's curves, "nothing is lost" elsewhere.
CONSTANTS: dict[str, tuple[float, float, float]] = {
    "gm.hbm": (1.8e12, 1.0e12, 2.0e12),
    "gm.l2": (8.0e12, 4.0e12, 9.0e12),
    "gm.give_back": (1.0, 0.5, 3.0),
    "gm.split": (1.0, 1.0, 3.0),
    "gm.same_cost": (0.1, 0.05, 1.0),
    "dma.to_ub.row": (1.0, 0.5, 12.0),
    "dma.to_ub.row_missed": (4.0, 0.5, 20.0),
    "dma.to_ub.unaligned": (1.0, 1.0, 3.0),
    "dma.to_l1_nz.row": (1.0, 0.5, 12.0),
    "dma.to_l1_nz.row_missed": (3.0, 0.5, 20.0),
    "dma.to_l1_nz.slow": (45.5, 30.0, 90.0),
    "cube.l1_shared": (1.0, 1.0, 2.0),
    "launch.mixed": (3.0e-6, 1.0e-6, 8.0e-6),
}
# The long cases say nothing that shorter ones do not, and a fit runs each some hundred times.
_LONG = ("add/0", "matmul/0", "matmul/1", "matmul/2", "matmul/3", "matmul/5", "matmul/7", "matmul_basic/2", "gemm/6144", "gemm/7680", "catlass/3", "catlass/6")
_LONGEST = ("add/0", "matmul/0")  # not even looked at once


@dataclass
class Fit:
    """constants: what came out; error: of the cases that it saw, before (at the start) and after; runs: evaluations."""
    constants: dict[str, float]
    before: float
    after: float
    runs: int


def fit(without: str = "", rounds: int = 2, say: Callable[[str], None] = lambda _: None, everything: bool = False, polish: bool = False) -> Fit:
    """One constant after the other to where the error is least, `rounds` times round.

    without: a source group that must not be seen. everything: all its cases, not only those marked as fitted, so that a fit
    which leaves one group out has the others whole. polish: from the table's own values on, by small steps. Deterministic.
    """
    chosen = [c.name for c in cases() if c.group != without and (everything or c.fitted) and not c.name.startswith(_LONG)]
    table = chips.flat()
    now = {name: table[name] if polish else start for name, (start, _, _) in CONSTANTS.items()}
    runs = 0

    def error(values: dict[str, float]) -> float:
        nonlocal runs
        runs += 1
        return _distance(_trial(chosen, f"fit-{without}-{runs}", values))

    before = best = error(now)
    for turn in range(rounds):
        for name, (_, lowest, highest) in CONSTANTS.items():
            step = 1.04 if polish else 1.5 if turn == 0 else 1.12
            for factor in (step, 1 / step):
                while lowest <= (trial := now[name] * factor) <= highest and (found := error(now | {name: trial})) < best - 1e-5:
                    now[name], best = trial, found
            say(f"round {turn + 1}: {name} = {now[name]:.4g}, error {best:.4f}")
    return Fit(now, before, best, runs)


def cross(groups: Iterable[str] = (), say: Callable[[str], None] = lambda _: None, rounds: int = 2) -> dict[str, Accuracy]:
    """For each source group, the errors of its cases by constants that were fitted without it."""
    names = list(groups) or sorted({c.group for c in cases()})
    found = {}
    for group in names:
        f = fit(group, rounds, everything=True)
        chosen = [c.name for c in cases() if c.group == group and not c.name.startswith(_LONGEST)]
        found[group] = _trial(chosen, f"cross-{group}", f.constants)
        errors = found[group].errors()
        say(f"{group}: fitted on the others to {f.after:.3f} in {f.runs} runs; its own {len(errors)} cases: median {errors[len(errors) // 2] * 100:.1f} %" if errors else f"{group}: no task times")
    return found


def write(constants: dict[str, float], chip: str = chips.DEFAULT) -> None:
    """Puts the values into the chip's table; what stands beside them stays."""
    path = paths.twin_dir() / "chips" / f"{chip}.toml"
    text = path.read_text(encoding="utf-8")
    for name, value in constants.items():
        section, _, key = name.rpartition(".")
        pattern = rf"(\[{re.escape(section)}\][^\[]*?^{re.escape(key)} = )([^\s#]+)"
        text, count = re.subn(pattern, lambda m, v=value: f"{m[1]}{v:.4g}", text, count=1, flags=re.M)
        if not count:
            raise ValueError(f"{path.name} has no {name}")
    path.write_text(text, encoding="utf-8")


def _trial(chosen: list[str], name: str, constants: dict[str, float]) -> Accuracy:
    result = accuracy(chosen, chip=_table(name, constants), models=False)
    runner.forget(name)
    return result


def _distance(a: Accuracy) -> float:
    task = {r.case: r.measured for r in a.rows if r.metric == "task"}
    logs = [abs(math.log(max(r.modelled, 1e-9) / r.measured)) * (1.0 if r.metric == "task" else 0.5) for r in a.rows
            if r.metric in ("task", "MTE1", "MTE2", "M", "V") and r.measured > 0.05 * task.get(r.case, 0)]
    return sum(logs) / len(logs)


def _table(name: str, constants: dict[str, float]) -> str:
    table: dict = {"base": chips.DEFAULT}
    for key, value in constants.items():
        node = table
        *path, last = key.split(".")
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    return chips.variant(name, table)
