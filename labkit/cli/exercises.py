"""Commands for those who do the exercises in a terminal."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

commands = typer.Typer()


@commands.command()
def stub(exercise: Annotated[str, typer.Argument(help="The exercise's id.")]) -> None:
    """The part of an exercise that is yours to write: labkit stub ID > mine.asc"""
    import labkit

    _no_prediction(exercise)
    print(labkit.exercise(exercise).stub())


@commands.command(context_settings={"ignore_unknown_options": True})  # an answer may be -1
def predict(
    exercise: Annotated[str, typer.Argument(help="The prediction's id.")],
    answer: Annotated[
        Optional[str], typer.Argument(help="A number, a word or a choice; without it the question.")
    ] = None,
) -> None:
    """Answer a prediction. Exit code 0 on PASS and SKIP, 1 on FAIL and TODO."""
    import labkit

    if answer is None:
        print(labkit.exercise(exercise).brief())
        raise typer.Exit(1)
    try:
        result = labkit.predict(exercise, answer)
    except TypeError:  # no prediction
        from labkit import messages

        sys.exit(f"labkit: {messages.text('exercise.do-code', id=exercise, ending=_ending(exercise))}")
    print(_for_terminal(str(result)))
    raise typer.Exit(0 if result.state in ("PASS", "SKIP") else 1)


def _no_prediction(exercise: str) -> None:
    """Ends the command where the exercise is a prediction, which has no file, and says how to answer it."""
    from labkit import messages
    from labkit.exercises.spec import load

    if load(exercise).kind == "predict":
        sys.exit(f"labkit: {messages.text('exercise.do-predict', id=exercise)}")


def _ending(exercise: str) -> str:
    from labkit.exercises.spec import load
    from labkit.exercises.stub import template

    return ".asc" if template(load(exercise)).comment == "//" else ".py"


def _for_terminal(text: str) -> str:
    """A result or a hint, with the commands of a terminal for the calls of a notebook."""
    from labkit import messages

    text = text.replace(messages.text("exercise.todo"), messages.text("exercise.todo-terminal"))
    text = re.sub(r'labkit\.exercise\("(\w+)"\)\.(compare|give_up)\(\)', r"`labkit \2 \1`", text)
    text = re.sub(r'labkit\.hint\("(\w+)"\)', r"`labkit hint \1`", text)
    text = re.sub(r"(?<![`.\w])(compare|give_up)\(\)", r"`labkit \1`", text).replace("labkit give_up", "labkit give-up")
    return text.replace("labkit.progress()", "`labkit progress`")


@commands.command()
def check(
    exercise: Annotated[str, typer.Argument(help="The exercise's id, as its cell shows it.")],
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What `labkit stub` printed, filled in.")],
) -> None:
    """Judge your solution. Exit code 0 on PASS and SKIP, 1 on FAIL and TODO."""
    print(_for_terminal(str(result := _judged(exercise, file))))
    raise typer.Exit(0 if result.state in ("PASS", "SKIP") else 1)


def _judged(exercise: str, file: Path):
    import labkit

    source, first_line = file.read_text(encoding="utf-8"), 1
    if source.startswith("%%exercise"):
        source, first_line = source.partition("\n")[2], 2
    try:
        return labkit.check(exercise, source, first_line=first_line)
    except TypeError:
        _no_prediction(exercise)
        raise


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

    _no_prediction(exercise)
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
            print(_for_terminal(str(result := _judged(exercise, file))), flush=True)
            if result.state in ("PASS", "SKIP"):
                return
        time.sleep(every)


@commands.command("next")
def next_exercise() -> None:
    """What comes next: the first exercise behind the one passed last, in the order of the notebooks, that is open."""
    import labkit
    from labkit import messages
    from labkit.exercises.order import following, notebook_of
    from labkit.exercises.progress_log import last_passed, passed_ones
    from labkit.exercises.spec import load

    name = following(last_passed(), passed_ones())
    if not name:
        print(messages.text("exercise.all-done"))
        return
    print(labkit.exercise(name).status(), *(["notebook " + there] if (there := notebook_of(name)) else []))
    if load(name).kind == "predict":
        print(messages.text("exercise.do-predict", id=name))
    else:
        print(messages.text("exercise.do-code", id=name, ending=_ending(name)))


@commands.command()
def hint(exercise: Annotated[str, typer.Argument(help="The exercise's id.")]) -> None:
    """The next hint: each call gives one more, three in all."""
    import labkit

    print(_for_terminal(str(labkit.hint(exercise))))


@commands.command()
def compare(exercise: Annotated[str, typer.Argument(help="The exercise's id.")]) -> None:
    """After a pass: our solution, and why it is so."""
    import labkit

    print(_for_terminal(str(labkit.exercise(exercise).compare())))


@commands.command("give-up")
def give_up(exercise: Annotated[str, typer.Argument(help="The exercise's id.")]) -> None:
    """The solution, before a pass; that it was shown is recorded."""
    import labkit

    print(_for_terminal(str(labkit.exercise(exercise).give_up())))


@commands.command()
def progress() -> None:
    """Which exercises are solved, and what comes next."""
    import labkit

    print(labkit.progress())
