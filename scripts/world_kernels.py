"""How many of the world's public kernels run on the twin: list them, run them, keep the table.

    python scripts/world_kernels.py --sources DIR list [filter ...]
    python scripts/world_kernels.py --sources DIR run [filter ...] [--write] [-v]

DIR holds one folder a repository, named owner+name. A filter is a part of a case's group, class or path, or a result
that the kept table has (verified, built, failed). --write brings data/world_kernels.csv up to date with what was run.
The sources are only read; this is run by hand, not by CI.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]
os.environ["PYTHONPATH"] = str(ROOT) + (":" + os.environ["PYTHONPATH"] if os.environ.get("PYTHONPATH") else "")

from tests.world import Case, Outcome, course, devkit, further, projects  # noqa: E402

TABLE = ROOT / "data" / "world_kernels.csv"
FIELDS = ("group", "repository", "commit", "path", "class", "result", "reason")
BARS = [
    ("devkit", ("vector",), 75),
    ("devkit", ("cube", "mixed"), 50),
    ("course", None, 90),
    ("ops", None, 70),
    ("drawn", None, 93),
]


def all_cases(sources: Path) -> list[Case]:
    return [*devkit.cases(sources), *course.cases(sources), *projects.cases(sources), *further.cases(sources)]


def table() -> dict[tuple[str, str], dict]:
    if not TABLE.exists():
        return {}
    with open(TABLE, encoding="utf-8", newline="") as file:
        return {(row["repository"], row["path"]): row for row in csv.DictReader(file)}


def chosen(cases: list[Case], filters: list[str]) -> list[Case]:
    kept = table()

    def fits(case: Case, word: str) -> bool:
        if word in ("verified", "built", "failed"):
            return kept.get((case.repository, case.name), {}).get("result") == word
        if word in ("counted", "vector", "cube", "mixed"):
            return case.counted if word == "counted" else case.kind == word
        if word in ("devkit", "course", "ops", "drawn"):
            return case.group == word
        return word in case.name or word in case.repository

    return [c for c in cases if all(fits(c, w) for w in filters)]


def commit_of(sources: Path, repository: str) -> str:
    """What the sources were taken from: a file COMMIT beside them, or a git folder."""
    home = sources / repository.replace("/", "+")
    if (home / "COMMIT").exists():
        return (home / "COMMIT").read_text().strip()[:12]
    done = subprocess.run(["git", "-C", str(home), "rev-parse", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip()[:12] if done.returncode == 0 else ""


def run_one(case: Case, sources: Path) -> tuple[Outcome, float]:
    began = time.time()
    with tempfile.TemporaryDirectory(prefix="world-") as scratch:
        try:
            outcome = case.run(sources / case.repository.replace("/", "+"), Path(scratch))
        except Exception as error:  # a driver's own mistake must not end the count
            outcome = Outcome(
                "failed", f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"[:220]
            )
    return outcome, time.time() - began


def summary(rows: list[dict]) -> list[str]:
    out = []
    for group, kinds, bar in BARS:
        mine = [r for r in rows if r["group"] == group and (kinds is None or r["class"] in kinds)]
        if mine:
            good = sum(r["result"] == "verified" for r in mine)
            built = sum(r["result"] == "built" for r in mine)
            label = group + (" " + "+".join(kinds) if kinds else "")
            out.append(
                f"{label}: {good} of {len(mine)} verified ({100 * good / len(mine):.0f} %, bar {bar} %), {built} "
                "more build"
            )
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=Path, required=True)
    parser.add_argument("action", choices=["list", "run"])
    parser.add_argument("filters", nargs="*")
    parser.add_argument("--write", action="store_true", help="update data/world_kernels.csv")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    cases = chosen(all_cases(given.sources), given.filters)
    kept = table()
    if given.action == "list":
        for case in cases:
            row = kept.get((case.repository, case.name), {})
            print(
                f"{case.group:<8} {case.kind:<7} {row.get('result', '-'):<9} {case.name}"
                + (f"   ({case.note})" if case.note else "")
            )
        print(f"{len(cases)} cases, {sum(c.counted for c in cases)} counted")
        return 0
    rows: dict[tuple[str, str], dict] = {}
    runnable = [c for c in cases if c.run is not None and (c.counted or given.filters)]
    with ThreadPoolExecutor(given.jobs) as pool:
        for case, (outcome, seconds) in zip(runnable, pool.map(lambda c: run_one(c, given.sources), runnable)):
            rows[case.repository, case.name] = dict(
                group=case.group if case.counted else f"{case.group}-uncounted",
                repository=case.repository,
                commit=commit_of(given.sources, case.repository),
                path=case.name,
                result=outcome.result,
                reason=(
                    outcome.reason.replace("\n", " ").replace(f"{given.sources.resolve()}/", "src/")
                    + (f" ({case.note})" if case.note and outcome.result != "verified" else "")
                ),
                **{"class": case.kind},
            )
            print(f"{outcome.result:<9} {seconds:5.1f} s  {case.name}  {outcome.reason}", flush=True)
    if given.write:
        merged = {**kept, **rows}
        with open(TABLE, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(merged.values(), key=lambda r: (r["group"], r["repository"], r["path"])))
    print()
    print("\n".join(summary(list(rows.values()))))
    causes = Counter(r["reason"].split(": ", 1)[-1][:90] for r in rows.values() if r["result"] != "verified")
    for cause, count in causes.most_common(25):
        print(f"{count:4}  {cause}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
