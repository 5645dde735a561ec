"""Commands for those who teach."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Optional

import typer

commands = typer.Typer()


@commands.command()
def grade(
    folder: Annotated[Path, typer.Argument(help="submitted/<student>/<assignment>/*.ipynb, or <student>/*.ipynb.")],
    to: Annotated[Path, typer.Option(help="Folder for grades.json, grades.csv and nbgrader.csv.")] = Path("grades"),
    seed: Annotated[int, typer.Option(help="The cases are drawn with it; not the one that learners have.")] = 0,
    class_: Annotated[
        Optional[Path],
        typer.Option("--class", help="class.toml of `labkit release`: hidden cases of each assignment follow from it."),
    ] = None,
    even_unconfined: Annotated[bool, typer.Option(help="Also where nothing confines the submissions.")] = False,
) -> None:
    """Grade notebooks. No cell is run as such: exercises are judged in confined processes, predictions are read."""
    from labkit import messages
    from labkit.camp import confine
    from labkit.camp import grade as grading
    from labkit.camp.release import class_seed

    def tell(g) -> None:
        words = {n: getattr(g, n) for n in ("student", "assignment", "exercise", "state", "diagnosis", "seconds")}
        print(messages.text("camp.graded", **words), flush=True)

    try:
        of_class = class_seed(class_) if class_ else None
        grades = grading.grade(folder, seed=seed, of_class=of_class, even_unconfined=even_unconfined, tell=tell)
    except (FileNotFoundError, ValueError, grading.NotIsolated) as error:
        sys.exit(f"labkit: {error}")
    files = grading.write(grades, to)
    states = Counter(g.state for g in grades)
    words = {"count": len(grades), "students": len({g.student for g in grades}), "isolation": str(confine.offers())}
    words["states"] = ", ".join(f"{states[s]} {s}" for s in grading.STATES if states[s]) or "-"
    print(messages.text("camp.summary", files=", ".join(map(str, files)), **words))
    raise typer.Exit(1 if states["ERROR"] else 0)


@commands.command()
def confined() -> None:
    """What this machine can promise about code that it does not trust, and what it cannot."""
    from labkit.camp import confine

    print("\n".join(confine.promises(confine.offers())))


@commands.command()
def release(
    to: Annotated[
        Path, typer.Argument(help="The course's folder: release/, student/ and class.toml are written there.")
    ],
    assignment: Annotated[str, typer.Argument(help="Its name, such as ps1.")],
    notebooks: Annotated[list[str], typer.Argument(help="Numbers or names: 01.02 or tiles_and_tails.")],
    seed: Annotated[Optional[int], typer.Option(help="Of the class; drawn where there is none yet.")] = None,
    lang: Annotated[str, typer.Option(help="en, zh, or both (the Chinese one becomes ASSIGNMENT-zh).")] = "en",
) -> None:
    """Give a class notebooks in nbgrader's layout and a copy of the lab without solutions."""
    from labkit import messages
    from labkit.camp import release as releasing

    langs = messages.LANGUAGES if lang == "both" else (lang,)
    if not set(langs) <= set(messages.LANGUAGES):
        sys.exit(f"labkit: --lang is {lang!r}; it must be en, zh or both")
    try:
        made = releasing.release(to, assignment, notebooks, seed=seed, langs=langs)
    except ValueError as error:
        sys.exit(f"labkit: {error}")
    print(*made.lines(to), sep="\n")


@commands.command()
def collect(
    source: Annotated[Path, typer.Argument(help="A folder with one for each student, zip files, or submitted/.")],
    to: Annotated[Path, typer.Argument(help="The course's folder: submitted/STUDENT/ASSIGNMENT is written there.")],
    assignment: Annotated[str, typer.Argument(help="Its name, as in `labkit release`.")],
    due: Annotated[str, typer.Option(help="2026-11-30T18:00+08:00; later ones are told.")] = "",
) -> None:
    """Bring what learners handed in into nbgrader's layout. Late, twice and wrong names are told."""
    from datetime import datetime

    from labkit.camp import collect as collecting

    try:
        when = datetime.fromisoformat(due).astimezone() if due else None
        made = collecting.collect(source, to, assignment, due=when)
    except (FileNotFoundError, ValueError) as error:
        sys.exit(f"labkit: {error}")
    print(*made.lines(to), sep="\n")


@commands.command()
def report(
    grades: Annotated[Path, typer.Argument(help="The folder that `labkit grade` wrote.")],
    submitted: Annotated[
        Optional[Path], typer.Option(help="The folder with submitted/, for attempts and hints from learners' logs.")
    ] = None,
    to: Annotated[Path, typer.Option(help="Folder for report.csv and report.html.")] = Path("report"),
) -> None:
    """Where the class stands: exercises x students, hints, commonest diagnoses, who is stuck and what to ask."""
    from labkit import messages
    from labkit.camp import report as reporting

    try:
        made = reporting.lines(grades, submitted)
    except (FileNotFoundError, ValueError, KeyError) as error:
        sys.exit(f"labkit: {error}")
    files = reporting.write(made, to)
    words = {"students": len({x.student for x in made}), "stuck": sum(x.stuck for x in made)}
    print(messages.text("camp.reported", files=", ".join(map(str, files)), **words))
