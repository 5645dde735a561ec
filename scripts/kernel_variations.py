"""What each variation of our C++ solutions gives: data/kernel_variations.csv, a row an exercise.

    python scripts/kernel_variations.py [id ...]        # those of them whose row is missing or stale, in this order

A variation (labkit/exercises/kernel_changes.py) is our solution with one thing changed. Each that compiles is run once
on all cases of seed 0, and the row keeps its number and a mark for each case (labkit.exercises.variations.mark); those
that are right are left out. A failed check looks the marks of a wrong answer up, builds the variations that have the
same, and names one only when it gives the same results. digest: of solution, cases and variations; a row whose digest
is not that of today is not used, and tests/exercises/test_kernel_variations.py fails. About half an hour for all 52.
"""

from __future__ import annotations

import csv
import os
import sys
import time

os.environ.update(LABKIT_PROGRESS="off", LABKIT_ANNOUNCE="off")

import labkit  # noqa: E402
from labkit import paths  # noqa: E402
from labkit.exercises.kernel_changes import variations  # noqa: E402
from labkit.exercises.known_mistakes import outcome  # noqa: E402
from labkit.exercises.spec import Spec, load_all  # noqa: E402
from labkit.exercises.stub import Template, template  # noqa: E402
from labkit.exercises.variations import digest, mark  # noqa: E402

FILE = paths.repo_root() / "data" / "kernel_variations.csv"
COLUMNS = "exercise digest variations compiled marks".split()


def row_of(spec: Spec, ours: Template) -> dict[str, str]:
    cases = spec.function(spec.cases)(0, False)
    those, compiled, kept = variations(ours), 0, []
    for number, one in enumerate(those):
        results = outcome(spec, ours, one.cell, cases)
        if results is None:
            continue
        compiled += 1
        marks = [mark(case, result) for case, result in zip(cases, results)]
        if set(marks) != {"="}:
            kept.append(f"{number}:{' '.join(marks)}")
    return dict(zip(COLUMNS, (spec.id, digest(ours, cases), len(those), compiled, ";".join(kept))))


def main(only: list[str]) -> None:
    labkit.setup("twin", 0, 0, False, False)
    specs = {spec.id: spec for spec in load_all() if spec.kind in ("kernel", "program")}
    if unknown := sorted(set(only) - set(specs)):
        sys.exit(f"no exercise with C++ regions is called {', '.join(unknown)}")
    rows = {}
    if FILE.is_file():
        with FILE.open(encoding="utf-8", newline="") as file:
            rows = {row["exercise"]: row for row in csv.DictReader(file) if row["exercise"] in specs}
    for name, spec in sorted(specs.items(), key=lambda item: only.index(item[0]) if item[0] in only else -1):
        ours, started = template(spec), time.perf_counter()
        if (
            only
            and name not in only
            or rows.get(name, {}).get("digest") == digest(ours, spec.function(spec.cases)(0, False))
        ):
            continue
        rows[name] = row = row_of(spec, ours)
        marks = row["marks"].split(";")
        print(f"{name}: {row['variations']} variations, {row['compiled']} compile, {len(marks)} are wrong, "
              f"{time.perf_counter() - started:.0f} s", flush=True)  # fmt: skip
        with FILE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[k] for k in sorted(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
