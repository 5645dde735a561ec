"""Commands that write and run the notebooks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

commands = typer.Typer()


@commands.command()
def build(
    notebooks: Annotated[Optional[list[str]], typer.Argument(help="Numbers, ids or paths; all without one.")] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit code 1 when a notebook is out of step.")
    ] = False,
    stamp: Annotated[
        bool, typer.Option("--stamp", help="Mark the Chinese text as a translation of the English as it is now.")
    ] = False,
    execute: Annotated[
        bool, typer.Option("--execute/--no-execute", help="Run the demo cells and keep their outputs.")
    ] = True,
    lang: Annotated[str, typer.Option(help="Only the notebooks in this language, en or zh.", show_default=False)] = "",
) -> None:
    """Write the notebooks from their sources, in both languages."""
    from labkit import messages
    from labkit.notebook import build as workbook
    from labkit.notebook import gate

    if check:
        raise typer.Exit(gate.main(notebooks or []))
    langs = (_language(lang),) if lang else messages.LANGUAGES
    raise typer.Exit(workbook.main(notebooks or [], stamp=stamp, execute=execute, langs=langs))


@commands.command()
def notebooks(
    folder: Annotated[Path, typer.Argument(help="Where to; made if missing.")],
    lang: Annotated[
        str, typer.Option(help="en or zh; the language in force (LABKIT_LANG) if not given.", show_default=False)
    ] = "",
) -> None:
    """Lay the workbook out in a folder of your own, and trust it. Again: what you changed is kept."""
    from labkit import messages
    from labkit.notebook.work_copy import lay_out

    print(*lay_out(folder, _language(lang) if lang else messages.language()).lines(folder), sep="\n")


@commands.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Where to; made if missing.")] = Path("workbook"),
    lang: Annotated[str, typer.Option(help="en or zh; LABKIT_LANG if not given.", show_default=False)] = "",
) -> None:
    """Lay a workbook out in a folder and say how to open it. Again, after an update: what you changed is kept."""
    import shlex

    notebooks(folder, lang)
    print(f"jupyter lab {shlex.quote(str(folder))}")


def _language(named: str) -> str:
    from labkit import messages

    if named not in messages.LANGUAGES:
        sys.exit(f"labkit: --lang is {named!r}; it must be one of {', '.join(messages.LANGUAGES)}")
    return named


@commands.command()
def glossary(
    term: Annotated[str, typer.Argument(help="A word, its long form or its Chinese; all without one.")] = "",
) -> None:
    """What a word of the field means, in English and Chinese. Exit code 1 where the glossary does not have it."""
    import labkit

    found = labkit.glossary(term)
    print(found)
    raise typer.Exit(1 if found.missed else 0)


@commands.command()
def journey(out: Annotated[Optional[Path], typer.Argument(help="An SVG file for the picture.")] = None) -> None:
    """Which notebook needs which, and where to go on if a stage is easy."""
    import labkit

    print(figure := labkit.journey())
    if out:
        print(figure.save(out))


@commands.command()
def board(stage: Annotated[str, typer.Argument(help="00 to 09; all without one.")] = "") -> None:
    """Your notebooks and exercises: passed, tried, open."""
    from labkit.book.board import snapshot

    try:
        print(snapshot(stage))
    except ValueError as error:
        sys.exit(f"labkit: {error}")


@commands.command()
def api(name: Annotated[str, typer.Argument(help="DataCopy, ReduceSum, ...")]) -> None:
    """What a name of Ascend C does, and how it is written."""
    import labkit

    try:
        print(labkit.api(name))
    except KeyError as error:
        sys.exit(f"labkit: {error.args[0]}")


@commands.command(
    "run-notebooks",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def run_notebooks(context: typer.Context) -> None:
    """Run the workbook with papermill: run/*.ipynb and run/index.html. Arguments are those of labkit.notebook.run."""
    from labkit.notebook import run

    raise typer.Exit(run.main(context.args))
