"""Writes data/triton_unit_tests.csv: triton-ascend's own unit tests, their files unchanged, through labkit.triton.

    git clone https://github.com/Ascend/triton-ascend          # or an archive of third_party/ascend/unittest
    python scripts/triton_unit_tests.py triton-ascend/third_party/ascend/unittest/pytest_ut

The rule: of every file the first case of its first test, all files counted. `not here` is what upstream's front end
cannot begin with: a file that imports modules which only triton-ascend's own build of Triton has, a case that
upstream's verifier or parser refuses (tiles of no power of 2), or one that the file itself skips. Names that
labkit.triton.cann lacks of triton-ascend's extension count as refused. Of the rest, `right`
is a test that passes; findings of the twin are counted beside it. Each case has --seconds, each process --files files.
"""

from __future__ import annotations

import csv
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections import deque
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
UPSTREAM = (
    r"No module named|cannot import name '\w+' from 'triton|power of 2|CompilationError|fixture '|Skipped|ttadapter|"
    r"module 'triton(?!.language.extra.cann)\S* has no attribute|was specified but unrecognised|"
    r"not supported in this architecture|unexpected keyword argument"
)
_rows = None  # inside a process of tests: where its rows go


def judged(outcome: str, text: str) -> str:
    if outcome == "passed":
        return "right"
    if outcome == "skipped" or (re.search(UPSTREAM, text) and "is not there" not in text):
        return "not here"
    return "refused" if "is not there" in text else "too large" if "bytes of UB" in text else "wrong"


# ---- the plugin of the inner pytest


def pytest_configure(config):
    global _rows
    if "TRITON_UNIT_ROWS" not in os.environ:
        return
    _rows = open(os.environ["TRITON_UNIT_ROWS"], "a", newline="", encoding="utf-8")
    resource.setrlimit(resource.RLIMIT_AS, (48 << 30, 48 << 30))
    from labkit import device

    device.install()
    import labkit.triton

    labkit.triton.install()
    from labkit.triton import driver

    driver.records = deque(maxlen=4096)  # what all launches of a test found, not the last ones alone


def pytest_collection_modifyitems(config, items):
    first = {}
    for item in items:
        first.setdefault(item.fspath.basename, item)
    items[:] = first.values()


class Late(Exception):
    pass


def _late(*_):
    raise Late("time is up")


def pytest_runtest_setup(item):
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(int(os.environ["TRITON_UNIT_SECONDS"]))


def note(name: str, outcome: str, text: str) -> None:
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", re.sub(r"/[\w./-]*/", "", " ".join(text.split())))
    csv.writer(_rows, lineterminator="\n").writerow([name, outcome, text[:240]])
    _rows.flush()


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        crash = getattr(report.longrepr, "reprcrash", None)
        said = [line[4:] for line in str(report.longrepr).splitlines() if line.startswith("E   ")]
        text = "" if report.outcome == "passed" else (crash.message if crash else str(report.longrepr)[-300:])
        if report.outcome == "failed" and "is not there" not in text:
            text = next((s for s in said if "is not there" in s), text)
        findings = ""
        if report.when == "call" and report.outcome == "passed":
            from labkit.triton import driver

            findings = " ".join(sorted({c for r in driver.records for c in r.codes()}))
            driver.records.clear()
        if report.when == "call" or report.outcome != "passed":
            note(report.nodeid, report.outcome, text or findings)
    if report.when == "teardown":
        signal.alarm(0)


def pytest_collectreport(report):
    if report.failed:
        said = [line for line in str(report.longrepr).splitlines() if line.startswith("E  ")]
        note(report.nodeid, "collect", said[-1][4:] if said else str(report.longrepr)[-300:])


# ---- the outer program


def run(files: list[Path], folder: Path, seconds: int) -> dict[str, tuple[str, str]]:
    """{file: (outcome, text)} of one process; a file that it did not come to is missing."""
    rows = folder / "rows.csv"
    rows.unlink(missing_ok=True)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(REPO), str(REPO / "scripts"), str(files[0].parent)]),
        "TRITON_UNIT_ROWS": str(rows),
        "TRITON_UNIT_SECONDS": str(seconds),
        "LABKIT_ARENA_GB": "8",
        "TRITON_CACHE_DIR": os.environ.get("TRITON_CACHE_DIR", str(folder / "cache")),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "triton_unit_tests", "-p", "no:cacheprovider", "-n", "0"]
    command += ["--noconftest", "--continue-on-collection-errors", "--rootdir", str(files[0].parent), "-c", os.devnull]
    process = subprocess.Popen(
        [*command, *map(str, files)],
        env=environment,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(seconds * len(files) + 60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    found = {}
    if rows.exists():
        for name, outcome, text in csv.reader(rows.open(encoding="utf-8")):
            found.setdefault(Path(name.split("::")[0]).name, (name.split("::")[-1], outcome, text))
    return found


def main(
    tests: Path, out: Path = REPO / "data" / "triton_unit_tests.csv", seconds: int = 40, files: int = 12, only: str = ""
):
    every = [p for p in sorted(tests.resolve().glob("test_*.py")) if re.search(only or ".", p.name)]
    table = []
    with tempfile.TemporaryDirectory() as made:
        for at in range(0, len(every), files):
            left = every[at : at + files]
            while left:
                found = run(left, Path(made), seconds)
                done = [p for p in left if p.name in found]
                for p in done:
                    case, outcome, text = found[p.name]
                    table.append([p.name, case, judged(outcome, text), text])
                rest = [p for p in left if p.name not in found]
                if not done and len(rest) == 1:
                    table.append([rest[0].name, "", "not here", "no test is collected, or the process ended"])
                    rest = []
                left = rest[:1] if not done else rest
                if not done:
                    every[at + files : at + files] = []
                    for p in rest[1:]:
                        more = run([p], Path(made), seconds).get(
                            p.name, ("", "skipped", "no test, or the process ended")
                        )
                        table.append([p.name, more[0], judged(*more[1:]), more[2]])
                print(f"{sum(r[2] == 'right' for r in table)} of {len(table)}", flush=True)
    table.sort()
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["file", "case", "outcome", "note"])
        writer.writerows(table)
    began = [r for r in table if r[2] != "not here"]
    print(f"{sum(r[2] == 'right' for r in began)} of {len(began)} that could begin are right, of {len(table)} files")


if __name__ == "__main__":
    import typer

    typer.run(main)
