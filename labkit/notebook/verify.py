"""Do the exercises hold: stub TODO, solution PASS, every mutant FAIL with its diagnosis;
and do the notebooks run in each reading?

    python -m labkit.notebook.verify [id ...]       the exercises, in this process
    python -m labkit.notebook.verify --notebooks    nbval over the committed notebooks, English and Chinese, and over
                                                    the solved ones, strict; on two cores

A check is trusted here only after it has rejected known-wrong solutions for the right reason.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from labkit import paths
from labkit.exercises.judge import examine
from labkit.exercises.prediction import examine as examine_prediction
from labkit.exercises.question import answer, evaluate
from labkit.exercises.result import Result
from labkit.exercises.spec import Spec, SpecError, folders, load, pick
from labkit.exercises.stub import template
from labkit.notebook.build import build_variant, chosen
from labkit.notebook.cells import Variant
from labkit.notebook.execute import environment


@dataclass
class Verdict:
    """what: "stub", "stub as code", "solution", or a mutant's name. wanted, got: "TODO", "PASS", or a diagnosis."""

    exercise: str
    what: str
    wanted: str
    got: str
    seconds: float
    result: Result

    @property
    def ok(self) -> bool:
        return (
            self.got == self.wanted
            or self.got == "SKIP"
            or self.wanted == "not PASS"
            and self.got not in ("PASS", "compile", "exception")
        )

    def __str__(self) -> str:
        verdict = "ok  " if self.ok else "WRONG"
        return (
            f"{verdict} {self.exercise}: {self.what} -> {self.got}"
            + ("" if self.ok else f", expected {self.wanted}")
            + f"  ({self.seconds:.1f} s)"
        )


def verify(ids: Iterable[str] | None = None) -> Iterator[Verdict]:
    """All verdicts of the named exercises, or of all."""
    for name in list(ids or ()) or folders():
        spec = load(name)
        yield from (_prediction(spec) if spec.kind == "predict" else _code(spec))


def plan(ids: Iterable[str] | None = None) -> list[tuple[str, str]]:
    """(exercise, what) of every verdict, without running anything: for pytest's parameters."""
    found = []
    for name in list(ids or ()) or folders():
        spec = load(name)
        base = ["stub", "solution"] if spec.kind == "predict" else ["stub", "stub as code", "solution"]
        found += [(name, what) for what in [*base, *(m.name for m in spec.mutants)]]
    return found


def one(name: str, what: str) -> Verdict:
    """A single verdict of `plan`."""
    spec = load(name)
    steps = _prediction_steps(spec) if spec.kind == "predict" else _code_steps(spec)
    return _timed(spec, *next(step for step in steps if step[0] == what))


def _timed(spec: Spec, what: str, wanted: str, run) -> Verdict:
    started = time.perf_counter()
    result = run()
    return Verdict(
        spec.id,
        what,
        wanted,
        result.diagnosis if result.state == "FAIL" else result.state,
        time.perf_counter() - started,
        result,
    )


def _code(spec: Spec) -> Iterator[Verdict]:
    return (_timed(spec, *step) for step in _code_steps(spec))


def _prediction(spec: Spec) -> Iterator[Verdict]:
    return (_timed(spec, *step) for step in _prediction_steps(spec))


def _code_steps(spec: Spec):
    """The stub must compile and, judged as code, be wrong in a way that teaches:
    it is the first thing many learners run.
    """
    ours = template(spec)
    yield "stub", "TODO", lambda: examine(spec, ours.stub())
    if spec.kind in ("kernel", "program") or any(r.stub for r in ours.regions):
        yield "stub as code", "not PASS", lambda: examine(spec, ours.stub(), even_stub=True)
    else:
        yield "stub as code", "TODO", lambda: examine(spec, ours.stub())
    # as in a cell, below its magic: what is built here is what the solved notebook needs
    yield ("solution", "PASS", lambda: examine(spec, ours.solution(), 2))
    for mutant in spec.mutants:
        yield mutant.name, mutant.noticed, lambda m=mutant: _told(examine(spec, ours.mutant(m.regions, m.edit)), m)


def _told(result, mutant):
    """The result; its diagnosis says so where the mutant's sentence does not come first."""
    if mutant.say and result.lines[:1] != [pick(mutant.say)]:
        result.diagnosis += ", without its sentence"
    return result


def _prediction_steps(spec: Spec):
    right = answer(spec)
    yield "stub", "TODO", lambda: examine_prediction(spec, ...)
    yield "solution", "PASS", lambda: examine_prediction(spec, right[0] if isinstance(right, (list, tuple)) else right)
    for mutant in spec.mutants:
        yield mutant.name, mutant.noticed, lambda m=mutant: examine_prediction(spec, evaluate(spec, m.value))


# ---- notebooks


def variant(out: Path, kind: Variant, only: Iterable[str] | None = None, home: Path | None = None) -> list[Path]:
    """Every notebook in one variant below `out`."""
    return [build_variant(src, out, kind, home) for src in chosen(only, home)]


def nbval_words(targets: Iterable[Path], timeout: int = 300, more: Iterable[str] = ()) -> list[str]:
    """What pytest is started with."""
    return [
        "-o",
        "addopts=",  # the lab's own are for its tests
        "--nbval",
        "--nbval-current-env",
        "--nbval-sanitize-with",
        str(paths.repo_root() / "tests" / "notebook" / "nbval.cfg"),
        f"--nbval-cell-timeout={timeout}",
        "-p",
        "no:cacheprovider",
        "-q",
        *more,
        *map(str, targets),
    ]


def build_twin(env: Mapping[str, str]) -> None:
    """The one that these variables ask for: built here, its announcement is not an output of the first notebook."""
    program = "from labkit.build import runtime; runtime.runner()"
    subprocess.run([sys.executable, "-c", program], env=env, check=True, capture_output=True)


def nbval(
    folder: Path | Iterable[Path],
    *,
    strict: bool = False,
    timeout: int = 300,
    more: Iterable[str] = (),
    settings: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess:
    """`pytest --nbval` over notebooks, in a process of its own. strict: LABKIT_STRICT=1;
    settings: more of its environment.
    """
    targets = [folder] if isinstance(folder, Path) else list(folder)
    # labkit.notebook: before nbval imports nbformat, see there
    command = [sys.executable, "-m", "pytest", "-p", "labkit.notebook", *nbval_words(targets, timeout, more)]
    env = environment(LABKIT_STRICT="1" if strict else "0", **(settings or {}))
    build_twin(env)
    # Its own folder: a conftest or an ini of the place it is started from must not apply to these notebooks.
    return subprocess.run(
        command,
        env=env,
        cwd=str(targets[0] if targets[0].is_dir() else targets[0].parent),
        capture_output=True,
        text=True,
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m labkit.notebook.verify", description=__doc__.split("\n")[0])
    parser.add_argument("ids", nargs="*")
    parser.add_argument(
        "--notebooks",
        action="store_true",
        help="nbval over the committed notebooks, in both languages, and over the solved ones, strict",
    )
    parser.add_argument("--times", type=Path, help="with --notebooks: a CSV file for the seconds that each takes")
    parser.add_argument("-v", action="store_true", help="show each result in full")
    asked = parser.parse_args(arguments)
    if asked.notebooks:
        return _notebooks(asked.times)
    wrong = 0
    try:
        for name in asked.ids:
            load(name)
    except SpecError as error:  # its text says which ids are near
        print(error, file=sys.stderr)
        return 2
    for verdict in verify(asked.ids):
        print(verdict, flush=True)
        wrong += not verdict.ok
        if asked.v or not verdict.ok:
            print("    " + str(verdict.result).replace("\n", "\n    "))
    print(f"{wrong} wrong" if wrong else "all as expected")
    return 1 if wrong else 0


def _notebooks(times: Path | None) -> int:
    """Two notebooks at a time; those of one reading in one process of pytest."""
    failed, rows = 0, []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        readings = {lang: [src.target(paths.notebooks_dir(), lang) for src in chosen(None)] for lang in ("en", "zh")}
        readings["solved"] = variant(out, Variant("solved"))
        for reading, books in readings.items():
            log, started = out / f"{reading}.xml", time.perf_counter()
            root = os.path.commonpath(
                books
            )  # a file outside of pytest's root has no name by which cells are kept together
            more = ["-n", "2", "--dist", "loadfile", f"--rootdir={root}", f"--junitxml={log}"]
            run = nbval(books, strict=reading == "solved", more=more)
            print(f"== {reading}: {len(books)} notebooks in {time.perf_counter() - started:.0f} s", flush=True)
            print(f"{run.stdout}{run.stderr}", flush=True)
            failed += run.returncode != 0
            rows += [(book, reading, f"{seconds:.1f}") for book, seconds in _seconds(log)]
    if times is not None:
        with times.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("notebook", "reading", "seconds"), *sorted(rows)])
    return int(failed > 0)


def _seconds(log: Path) -> Iterator[tuple[str, float]]:
    """(notebook's number, seconds of all its cells), from pytest's report."""
    spent: dict[str, float] = defaultdict(float)
    for case in ElementTree.parse(log).iter("testcase"):
        if found := re.search(
            r"\d\d\.\d\d(?=_)", case.get("classname", "") + case.get("file", "") + case.get("name", "")
        ):
            spent[found[0]] += float(case.get("time", "0"))
    yield from spent.items()


if __name__ == "__main__":
    sys.exit(main())
