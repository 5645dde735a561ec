"""Commands for those who do the exercises in a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

commands = typer.Typer()


@commands.command()
def stub(exercise: Annotated[str, typer.Argument(help="The exercise's id.")]) -> None:
    """The part of an exercise that is yours to write: labkit stub ID > mine.asc"""
    import labkit

    print(labkit.exercise(exercise).stub())


@commands.command()
def check(
    exercise: Annotated[str, typer.Argument(help="The exercise's id, as its cell shows it.")],
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What `labkit stub` printed, filled in.")],
) -> None:
    """Judge your solution. Exit code 0 on PASS and SKIP, 1 on FAIL and TODO."""
    import labkit

    source, first_line = file.read_text(encoding="utf-8"), 1
    if source.startswith("%%exercise"):
        source, first_line = source.partition("\n")[2], 2
    try:
        result = labkit.check(exercise, source, first_line=first_line)
    except TypeError as error:  # a prediction: answered in the notebook
        sys.exit(f"labkit: {error}")
    print(result)
    raise typer.Exit(0 if result.state in ("PASS", "SKIP") else 1)


@commands.command()
def hint(exercise: Annotated[str, typer.Argument(help="The exercise's id.")]) -> None:
    """The next hint: each call gives one more, three in all."""
    import labkit

    print(labkit.hint(exercise))


@commands.command()
def progress() -> None:
    """Which exercises are solved, and what comes next."""
    import labkit

    print(labkit.progress())
