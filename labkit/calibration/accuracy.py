"""How far the clock is off: every published case launched again on the twin, modelled against measured.

The launches move and multiply nothing (timing_only), so that 8192^3 takes a second. Errors are modelled / measured - 1.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from labkit import chips
from labkit.calibration.cases import Bench, Case, cases, published

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

MODELS = ("roofline", "mskpp", "pto_isa")  # public models in the same table
_ONCE = ("add/0", "matmul/0")  # seconds each, so the other models are not asked
NO_PIPES = ("aiv.time", "gap")  # cores' mean time, and the task's beyond it
NO_MODEL = ("short/", "launch/")  # not what the public models are for: they know no launch and no scalar unit
_BUSY = 0.05  # a pipe that is busy for less of the task says nothing about the time


@dataclass(frozen=True)
class Row:
    """One figure of one case, in us. metric: "task", or a pipe. others: what other models say of the task's time."""

    case: str
    group: str
    metric: str
    fitted: bool
    measured: float
    modelled: float
    others: dict[str, float]

    @property
    def error(self) -> float:
        return self.modelled / self.measured - 1


@dataclass(frozen=True)
class Accuracy:
    rows: list[Row]
    seconds: float  # of host time

    def errors(self, metric: str = "task", fitted: bool | None = None, model: str = "") -> list[float]:
        """Absolute relative errors, smallest first. metric: "task" or "pipes"; model: one of MODELS instead of ours."""
        chosen = [r for r in self.rows if (r.metric == "task") == (metric == "task") and fitted in (None, r.fitted)]
        chosen = [r for r in chosen if r.metric not in NO_PIPES]
        if metric == "pipes":
            task = {r.case: r.measured for r in self.rows if r.metric == "task"}
            chosen = [r for r in chosen if r.measured > _BUSY * task.get(r.case, 0)]
        if model:
            return sorted(abs(r.others[model] / r.measured - 1) for r in chosen if model in r.others)
        return sorted(abs(r.error) for r in chosen)

    def summary(self) -> dict:
        """The figures that the README states: shares, e.g. 0.05 for 5 %."""
        task, pipes = self.errors(), self.errors("pipes")
        found = {
            "cases": len(task),
            "median_abs_error": quantile(task, 0.5),
            "p90_abs_error": quantile(task, 0.9),
            "worst_abs_error": task[-1],
            "fitted": {
                "cases": len(self.errors(fitted=True)),
                "median_abs_error": quantile(self.errors(fitted=True), 0.5),
            },
            "not_fitted": {
                "cases": len(self.errors(fitted=False)),
                "median_abs_error": quantile(self.errors(fitted=False), 0.5),
            },
            "pipes": {
                "figures": len(pipes),
                "median_abs_error": quantile(pipes, 0.5),
                "p90_abs_error": quantile(pipes, 0.9),
            },
            "models": {
                m: {"cases": len(e), "median_abs_error": quantile(e, 0.5), "p90_abs_error": quantile(e, 0.9)}
                for m in MODELS
                if (e := self.errors(model=m))
            },
            "ladders_in_order": sum(ok for ok in self.ladders().values()),
            "ladders": len(self.ladders()),
            "seconds": round(self.seconds, 1),
        }
        return found

    def ladders(self) -> dict[str, bool]:
        """Each published optimisation: does the clock put its steps in the measured order?
        Steps within 2 % count as equal.
        """
        steps: dict[str, list[Row]] = {}
        by_case = {(r.case, r.metric): r for r in self.rows}
        for c in cases():
            row = by_case.get((c.name, "task")) or next((r for r in self.rows if r.case == c.name), None)
            if c.ladder and row:
                steps.setdefault(c.ladder, []).append(row)

        def ordered(rows: list[Row]) -> bool:
            return all(
                (a.modelled - b.modelled) * (a.measured - b.measured) > 0 or abs(a.measured / b.measured - 1) < 0.02
                for a, b in zip(rows, rows[1:])
                if a.metric == b.metric
            )

        return {name: ordered(rows) for name, rows in steps.items() if len(rows) > 1}

    def json(self) -> str:
        return json.dumps(self.summary() | {"rows": [asdict(r) | {"error": r.error} for r in self.rows]}, indent=1)


def quantile(ordered: list[float], q: float) -> float:
    import numpy as np

    return float(np.quantile(ordered, q)) if ordered else float("nan")


def accuracy(
    only: Iterable[str] = (),
    tables: Mapping[str, str] | None = None,
    models: bool = True,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> Accuracy:
    """Runs the cases whose names begin with one of `only` (default: all).
    tables: chip -> the table that stands for it (a fit's trial). progress(done, all) follows each case.
    """
    tables = tables or {}
    began, rows, facts = time.perf_counter(), [], published()
    chosen = [c for c in cases() if c.name in facts and (not list(only) or c.name.startswith(tuple(only)))]
    benches = {c.chip: Bench(tables.get(c.chip, c.chip)) for c in chosen}
    others = {name: _model(name) for name in MODELS[1:]} if models else {}
    for done, c in enumerate(chosen, 1):
        bench = benches[c.chip]
        record = c.launch(bench)
        modelled = {"task": record.time_us} | record.busy | _by_kind(record)
        modelled["gap"] = record.time_us - sum(core["time"] for core in record.cores) / len(record.cores)
        said = {}
        if models and "task" in facts[c.name] and not c.name.startswith(_ONCE + NO_MODEL):
            said = {"roofline": _roofline(record, c)} | {name: _with(table, c, bench) for name, table in others.items()}
        rows += [
            Row(c.name, c.group, metric, c.fitted, us, modelled[metric], said if metric == "task" else {})
            for metric, us in facts[c.name].items()
        ]
        progress(done, len(chosen))
    return Accuracy(rows, time.perf_counter() - began)


def _by_kind(record) -> dict[str, float]:
    """Busy times of cube cores and of vector cores, as "aic.MTE2" and "aiv.MTE2":
    the mean over the cores of that kind.
    """
    found = {}
    for kind, mine in (
        ("aic", [c for c in record.cores if c["core"] == 2]),
        ("aiv", [c for c in record.cores if c["core"] != 2]),
    ):
        if mine:
            found |= {
                f"{kind}.{f.removeprefix('busy.')}": sum(c[f] for c in mine) / len(mine)
                for f in mine[0]
                if f.startswith("busy.") or f == "time"
            }
    return found


def _model(name: str) -> str:
    path = Path(__file__).parent / "models" / f"{name}.toml"
    return chips.variant(f"model-{name}", tomllib.loads(path.read_text(encoding="utf-8")))


def _with(table: str, c: Case, bench: Bench) -> float:
    """The time of a case by another model's table, on the memory that is there."""
    other = Bench(table, _memory=bench._memory)
    return c.launch(other).time_us


def _roofline(record, c: Case) -> float:
    """The longest of: bytes over GM's published peak of 1.8 TB/s, cube and vector work over the chip's peaks; in us."""
    t = chips.load(c.chip)
    hz, gm = t["clock"]["hz"], 1.8e12 * t["gm"]["hbm"] / chips.load()["gm"]["hbm"]
    total = {f: sum(core[f] for core in record.cores) for f in record.cores[0]}
    moved = sum(v for f, v in total.items() if f.startswith("bytes."))
    fractals = (total["fractals16"] + total["fractals8"] + total["fractals32"]) / t["cores"]["aic"]
    vector = (total["vector16"] / 128 + total["vector32"] / 64 + total["vector_other"] / 64) / t["cores"]["aiv"]
    if record.blocks == 1:  # one core's own peaks
        fractals, vector, gm = (
            fractals * t["cores"]["aic"],
            vector * t["cores"]["aiv"],
            t["dma"]["to_l1" if fractals else "to_ub"]["hit"] * hz,
        )
    return max(moved / gm, fractals / hz, vector / hz) * 1e6


def table(a: Accuracy, path: Path) -> None:
    """Writes the rows as CSV: what the README shows."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(
            (
                "case",
                "group",
                "metric",
                "fitted",
                "measured_us",
                "modelled_us",
                "error_percent",
                *(f"{m}_us" for m in MODELS),
            )
        )
        for r in a.rows:
            out.writerow(
                (
                    r.case,
                    r.group,
                    r.metric,
                    int(r.fitted),
                    f"{r.measured:.3f}",
                    f"{r.modelled:.3f}",
                    f"{r.error * 100:.1f}",
                    *(f"{r.others[m]:.3f}" if m in r.others else "" for m in MODELS),
                )
            )
