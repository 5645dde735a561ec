"""Commands that write and run the notebooks."""

from __future__ import annotations

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
) -> None:
    """Write the notebooks from their sources."""
    from labkit.notebook import build as workbook
    from labkit.notebook import gate

    if check:
        raise typer.Exit(gate.main(notebooks or []))
    raise typer.Exit(workbook.main(notebooks or [], stamp=stamp, execute=execute))


@commands.command(
    "run-notebooks",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def run_notebooks(context: typer.Context) -> None:
    """Run the workbook with papermill: run/*.ipynb and run/index.html. Arguments are those of labkit.notebook.run."""
    from labkit.notebook import run

    raise typer.Exit(run.main(context.args))
