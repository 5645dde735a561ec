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
    print(result := _judged(exercise, file))
    raise typer.Exit(0 if result.state in ("PASS", "SKIP") else 1)


def _judged(exercise: str, file: Path):
    import labkit

    source, first_line = file.read_text(encoding="utf-8"), 1
    if source.startswith("%%exercise"):
        source, first_line = source.partition("\n")[2], 2
    try:
        return labkit.check(exercise, source, first_line=first_line)
    except TypeError as error:  # a prediction: answered in the notebook
        sys.exit(f"labkit: {error}")


@commands.command()
def watch(
    exercise: Annotated[str, typer.Argument(help="The exercise's id.")],
    file: Annotated[Path, typer.Argument(dir_okay=False, help="Made with the stub in it if it is not there.")],
    every: Annotated[float, typer.Option(help="Seconds between two looks at the file.")] = 0.5,
) -> None:
    """Judge your solution each time the file is saved, until it passes."""
    import time

    import labkit
    from labkit import messages

    wanted = labkit.exercise(exercise)
    if not file.exists():
        file.write_text(wanted.stub() + "\n", encoding="utf-8")
    print(messages.text("watch.waiting", file=file, id=exercise), flush=True)
    seen = None
    while True:
        try:
            now = file.stat().st_mtime_ns
        except FileNotFoundError:  # some editors write another file and rename it
            now = seen
        if now != seen:
            seen = now
            print(result := _judged(exercise, file), flush=True)
            if result.state in ("PASS", "SKIP"):
                return
        time.sleep(every)


@commands.command("next")
def next_exercise() -> None:
    """What comes next: the first exercise, in the order of the notebooks, that has not been passed."""
    import labkit
    from labkit import messages
    from labkit.exercises.order import following, notebook_of
    from labkit.exercises.progress_log import passed_ones

    name = following("", passed_ones())
    if not name:
        print(messages.text("exercise.all-done"))
        return
    print(labkit.exercise(name).status(), *(["notebook " + there] if (there := notebook_of(name)) else []))


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
