"""The program `labkit`. A thin layer: every command calls one function of another room, imported when it runs.

Nothing at the top may import torch, IPython or a notebook library: `labkit --help` answers in a fraction of a second.
Exit codes: 0 all well, 1 something failed or is to be done, 2 the command was written wrongly.
"""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from labkit.cli import batch, bench, camp, clock, exercises, machine, programs, traces, workbook

app = typer.Typer(
    name="labkit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="The Ascend C lab: kernels, exercises and notebooks, with or without an NPU.",
)
for unnamed in (machine, programs, exercises, workbook, batch, camp):
    app.add_typer(unnamed.commands)
app.add_typer(clock.commands, name="clock")
app.add_typer(traces.commands, name="trace")
app.add_typer(bench.commands, name="bench")


def _version(asked: bool) -> None:
    if asked:
        import labkit

        print(f"labkit {labkit.__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def _mendable(error: Exception) -> bool:
    """Whether the text of `error` says what to do, so that a traceback would only hide it."""
    loaded = [
        getattr(sys.modules.get(module), name, None)
        for module, name in (
            ("labkit.build.compiler", "ToolError"),
            ("labkit.source.errors", "CompileError"),
            ("labkit.launch.record", "LaunchError"),
            ("labkit.exercises.spec", "SpecError"),
            ("labkit.exercises.result", "CheckFailed"),
            ("labkit.trace.refusals", "TraceError"),
        )
    ]
    return isinstance(error, tuple(kind for kind in loaded if kind is not None))


def _wanted(package: str) -> str:
    from labkit import paths

    extra = "batch" if package in ("dask", "distributed") else "lab"
    return f"-e '.[{extra}]'" if not paths.installed() else f"'labkit[{extra}]'"


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if (stream.encoding or "").lower() in ("ascii", "us-ascii", "ansi_x3.4-1968"):
            stream.reconfigure(encoding="utf-8")  # LC_ALL=C; what such a terminal really shows is UTF-8 nearly always
    try:
        app()
    except ModuleNotFoundError as error:
        if not error.name or error.name.partition(".")[0] == "labkit":
            raise
        sys.exit(
            f"labkit: the Python package {error.name} is missing. Try: {shlex.quote(sys.executable)} -m pip "
            f"install {_wanted(error.name)}"
        )
    except Exception as error:
        if isinstance(error, OSError) and str(error.filename) in sys.argv:  # what the person named, not one of ours
            from labkit import messages

            sys.exit(f"labkit: {messages.unreadable(error)}")
        if not _mendable(error):
            raise
        said = str(error).replace("labkit.progress()", "`labkit progress`")  # a notebook's call
        sys.exit(f"labkit: {said}")
