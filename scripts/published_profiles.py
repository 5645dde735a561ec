"""What the analyser reads of profiles that others have published: data/published_profiles.csv.

python scripts/published_profiles.py FOLDER [--write]: FOLDER holds the repositories' files as <owner>+<name>/<path> (of
git archive, say). A profile that is not there is left as it stands in the table. Nothing of the files is committed but
the excerpts in tests/trace/published, whose README names source and licence.
"""

# ruff: noqa: E501  (paths as they are)
from __future__ import annotations

import argparse
import csv
from pathlib import Path

from labkit import trace
from labkit.trace.refusals import TraceError

REPO = Path(__file__).resolve().parent.parent
TABLE = REPO / "data" / "published_profiles.csv"
HEADS = ["repo", "commit", "licence", "path", "read_as", "version", "level", "ranks", "kernels", "steps", "host_operators", "first_finding"]  # fmt: skip
INSIGHT = ("Ascend/msinsight", "4e16fca1f118458ce8820e9fe9c3cd323db35707", "Mulan PSL v2")
ANALYZE = ("Ascend/msprof-analyze", "8399c1cdd2ae369c0e7f618694973dd85238cad1", "Mulan PSL v2")
LELE = ("LeleCheung/Ascend-Optimization", "3e45e1cb86fe3441979c5dd7e5fa4540b907c9b1", "none stated")
PROFILES = [
    *((*INSIGHT, f"test/data/pytorch/{form}/level{level}") for form in ("text", "db") for level in (0, 1, 2)),
    (*INSIGHT, "test/data/pytorch/text/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"),
    (*INSIGHT, "test/data/pytorch/text/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/communication.json"),
    (*ANALYZE, "test/ut/advisor/advisor_backend/compute_advice/kernel_details.csv"),
    (*ANALYZE, "test/ut/advisor/compute_advice/data/kernel_details.csv"),
    (*ANALYZE, "test/ut/advisor/timeline_advice/trace_view.json"),
    (*ANALYZE, "test/resource/advisor"),
    (*LELE, "project/Ascend-Optimization-v1/operators/amin/reports/optimized-profile-20261010/case-0/artifacts/a003-op_summary.csv"),
]  # fmt: skip


def row(repo: str, commit: str, licence: str, path: str, file: Path) -> dict:
    found = {"repo": repo, "commit": commit, "licence": licence, "path": path}
    try:
        read = trace.read(file, progress=False)
    except TraceError as error:
        return found | {
            "read_as": "refused",
            "first_finding": f"{error.code}: {error.problem.lines('en')[0].replace(str(file), path)}",
        }
    first, findings = read.trace, read.findings()
    said = findings[0] if findings else None
    return found | {
        "read_as": first.kind, "version": first.generation, "level": first.level, "ranks": len(read.traces),
        "kernels": sum(t.compute().height for t in read.traces), "steps": first.steps.height, "host_operators": first.host.height,
        "first_finding": f"{said.code}: {100 * said.share:.0f} % of the step" if said else "none",
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rows = {}
    if TABLE.is_file():
        with open(TABLE, encoding="utf-8", newline="") as file:
            rows = {(r["repo"], r["path"]): r for r in csv.DictReader(file)}
    for repo, commit, licence, path in PROFILES:
        file = given.folder / repo.replace("/", "+") / path
        if file.exists():
            rows[repo, path] = row(repo, commit, licence, path, file)
            print(" | ".join(str(rows[repo, path].get(h, "")) for h in HEADS[3:]))
        else:
            print(f"{file}: not there")
    if given.write:
        with open(TABLE, "w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, HEADS, lineterminator="\n", restval="")
            table.writeheader()
            table.writerows(rows[repo, path] for repo, _, _, path in PROFILES if (repo, path) in rows)


if __name__ == "__main__":
    main()
