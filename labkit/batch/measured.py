"""Modelled beside measured, as a table for data/measured/: the launches that the clock has a published case for, and
each kernel of the workbook (our solution of each exercise that is one, on its largest case).

    make(file)      on a node: each case of `cases` on the twin, then on the card
    read(folder)    what nodes have given back; show() compares it with what the clock says today

A row is one launch: the median of its repeats by the card's events, each with an L2 that was written over before (the
cases' clock begins with an empty one too). No card was at hand when this was written: with `clock` a stand-in takes the
card's place, and each row that it makes says so in its column `kind`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from labkit import chips, messages, paths
from labkit.batch.state import write
from labkit.exercises import launch
from labkit.exercises.cases import InOut
from labkit.exercises.spec import Spec, load_all
from labkit.exercises.stub import template

KINDS = ("measured", "stand-in")
REPEATS, WARM_UP = 20, 3
_L2_BYTES = 512 << 20  # more than twice the largest L2 of these chips


@dataclass(frozen=True)
class Row:
    """One case. us: host clocks play no part. spread: (largest - smallest) / median of the repeats."""

    case: str
    group: str
    chip: str
    modelled_us: float
    measured_us: float
    repeats: int
    spread: float
    kind: str
    card: str
    torch_npu: str

    @property
    def error(self) -> float:
        return self.modelled_us / self.measured_us - 1


def folder() -> Path:
    return paths.data_dir() / "measured"


def make(file: Path, only: Iterable[str] = (), clock: Callable[[str, float], float] | None = None) -> list[Row]:
    """Write the table and say where; [] with the reason where no card can be used.

    clock: a stand-in, (case, modelled us) -> us, for a machine without a card; its rows are of the kind "stand-in".
    """
    from labkit.exercises.session import npu

    usable, reason = npu()
    if clock is None and not usable:
        print(messages.text("batch.no-card", reason=reason), file=sys.stderr)
        return []
    facts = {"card": "stand-in", "torch_npu": "", "times": {}} if clock else _ask("npu", only, chips.chosen())
    chip = chip_of(facts["card"])
    twin = _ask("twin", only, chip)
    modelled = twin["times"]
    if clock:
        facts["times"] = {case: [clock(case, us[0])] for case, us in modelled.items()}
    rows = []
    for case, times in facts["times"].items():
        middle = statistics.median(times)
        if case in modelled and middle > 0:
            rows.append(
                Row(case, case.partition("/")[0], chip, modelled[case][0], middle, len(times),
                    (max(times) - min(times)) / middle, KINDS[clock is not None], facts["card"], facts["torch_npu"])
            )  # fmt: skip
    save(file, rows)
    for case, why in (twin["failed"] | facts.get("failed", {})).items():
        print(messages.text("batch.not-measured", case=case, why=why), file=sys.stderr)
    kind = KINDS[clock is not None]
    print(messages.text("batch.measured", count=len(rows), kind=kind, file=paths.display_path(file)))
    return rows


def chip_of(card: str) -> str:
    """The table for a card by its name, "Ascend910B3" -> "910B3"; LABKIT_CHIP or 910B1 for one without."""
    found = re.search(r"910B\d", card)
    return found[0] if found and found[0] in chips.names() else chips.chosen()


def save(file: Path, rows: Iterable[Row]) -> None:
    """The table, complete or not at all."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    names = [f.name for f in fields(Row)]
    table.writerow(names)
    for row in rows:
        values = [getattr(row, name) for name in names]
        table.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in values])
    write(file, out.getvalue())


def read(where: Path | None = None) -> list[Row]:
    """The rows of a file, or of all files of a folder (data/measured/). Raises ValueError for another kind of table."""
    where = where or folder()
    rows = []
    for file in sorted(where.glob("*.csv")) if where.is_dir() else [where]:
        with open(file, encoding="utf-8", newline="") as lines:
            for number, found in enumerate(csv.DictReader(lines), 2):
                try:
                    row = Row(**{f.name: _value(f.type, found[f.name]) for f in fields(Row)})
                    if row.kind not in KINDS or not (row.modelled_us > 0 and row.measured_us > 0):
                        raise ValueError("kind or times")
                except (KeyError, TypeError, ValueError) as error:
                    raise ValueError(
                        f"{paths.display_path(file)}:{number}: not a row of `labkit batch --target npu` ({error}); "
                        f"its columns are {', '.join(f.name for f in fields(Row))}"
                    ) from None
                rows.append(row)
    return rows


def _value(kind: str, text: str):
    return {"float": float, "int": int, "str": str}[kind](text)


def show(rows: list[Row]) -> str:
    """A line for each case, the median error for each kind of row; what is no measurement is called so."""
    lines = [f"{'case':36} {'chip':6} {'measured us':>12} {'modelled us':>12} {'error':>7}  kind"]
    lines += [
        f"{r.case:36} {r.chip:6} {r.measured_us:12.2f} {r.modelled_us:12.2f} {r.error * 100:+6.0f} %  {r.kind}"
        for r in rows
    ]
    for kind in KINDS:
        errors = [abs(r.error) for r in rows if r.kind == kind]
        if errors:
            said = "" if kind == "measured" else " (a stand-in for a card: no measurement)"
            lines.append(f"{kind}: {len(errors)} cases, median error {statistics.median(errors) * 100:.1f} %{said}")
    return "\n".join(lines if rows else ["no rows: data/measured/ has no table yet"])


# ---- the two processes: one cannot be on the twin and on the card


def _ask(target: str, only: Iterable[str], chip: str) -> dict:
    words = {**os.environ, "LABKIT_TARGET": target, "LABKIT_CHIP": chip, "LABKIT_ANNOUNCE": "off"}
    words["PYTHONPATH"] = os.pathsep.join([str(paths.import_root()), os.environ.get("PYTHONPATH", "")]).rstrip(
        os.pathsep
    )
    if target == "twin":
        words["LABKIT_DEVICE"] = "sim"
    else:
        words.pop("LABKIT_DEVICE", None)
    done = subprocess.run(
        [sys.executable, "-m", "labkit.batch.measured", target, *only], env=words, capture_output=True, text=True
    )
    if done.returncode:
        raise ValueError((done.stderr.strip().splitlines() or ["no answer"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


def times(target: str, only: list[str]) -> dict:
    """{"card", "torch_npu", "times": {case: [us, ...]}, "failed": {case: why}}, in this process."""
    import torch

    from labkit import device

    device.install()
    card = torch.npu.get_device_name(0) if target == "npu" else ""
    version = getattr(sys.modules.get("torch_npu"), "__version__", "")
    flush = torch.empty(_L2_BYTES, dtype=torch.uint8).npu() if target == "npu" else None
    found: dict[str, list[float]] = {}
    failed: dict[str, str] = {}
    for name, launched in cases(chips.chosen()).items():
        if only and not name.startswith(tuple(only)):
            continue
        held = []
        try:
            for _ in range(1 if flush is None else WARM_UP + REPEATS):
                if flush is not None:
                    flush.zero_()
                    torch.npu.synchronize()
                held.append(launched())
        except Exception as error:  # one kernel that fails on the card costs its own row only
            failed[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
            continue
        found[name] = held if flush is None else held[WARM_UP:]
    return {"failed": failed, "card": card, "torch_npu": str(version), "times": found}


def cases(chip: str) -> dict[str, Callable[[], float]]:
    """Name -> one launch, which gives its microseconds. The clock's published cases have the names that they have in
    data/published_times.csv, those of the workbook's kernels are kernel/EXERCISE.
    """
    from labkit.calibration.cases import Bench
    from labkit.calibration.cases import cases as published

    bench = Bench(chip)
    made = {case.name: lambda case=case: float(case.launch(bench).time_us) for case in published()}
    return made | {f"kernel/{s.id}": _Exercise(s, chip) for s in load_all() if s.kind == "kernel" and s.needs != "npu"}


class _Exercise:
    """Our solution of an exercise, built at the first launch; each launch begins with tensors of its own."""

    def __init__(self, spec: Spec, chip: str) -> None:
        self.spec, self.chip, self.kernel = spec, chip, None

    def __call__(self) -> float:
        spec = self.spec
        if self.kernel is None:
            ours, name = template(spec), f"exercise {spec.id}"
            self.kernel = launch.build(ours.join(ours.solution(), name).text, name, spec.entry)
            self.kernel.chip, self.kernel.l2 = self.chip, "cold"
            self.case = max(spec.function(spec.cases)(0, False), key=lambda case: sum(map(_elements, case.args)))
        return float(launch.run_kernel(spec, self.kernel, self.case)[1].time_us)


def _elements(argument) -> int:
    shape = getattr(argument.tensor if isinstance(argument, InOut) else argument, "shape", ())
    return shape if isinstance(shape, int) else math.prod(shape) if shape else 0


if __name__ == "__main__":
    print("\n" + json.dumps(times(sys.argv[1], sys.argv[2:])))
