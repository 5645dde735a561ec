"""Commands for those who teach."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

commands = typer.Typer()


@commands.command()
def grade(
    folder: Annotated[Path, typer.Argument(help="submitted/<student>/<assignment>/*.ipynb, or <student>/*.ipynb.")],
    to: Annotated[Path, typer.Option(help="Folder for grades.json, grades.csv and nbgrader.csv.")] = Path("grades"),
    seed: Annotated[int, typer.Option(help="The cases are drawn with it; not the one that learners have.")] = 0,
    even_unconfined: Annotated[bool, typer.Option(help="Also where nothing confines the submissions.")] = False,
) -> None:
    """Grade notebooks. No cell is run as such: exercises are judged in confined processes, predictions are read."""
    from labkit import messages
    from labkit.camp import confine
    from labkit.camp import grade as grading

    def tell(g) -> None:
        words = {n: getattr(g, n) for n in ("student", "assignment", "exercise", "state", "diagnosis", "seconds")}
        print(messages.text("camp.graded", **words), flush=True)

    try:
        grades = grading.grade(folder, seed=seed, even_unconfined=even_unconfined, tell=tell)
    except (FileNotFoundError, grading.NotIsolated) as error:
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
