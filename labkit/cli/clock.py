"""labkit clock: how far the modelled clock is off, and where its constants come from."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

commands = typer.Typer(
    no_args_is_help=True, help="The modelled clock: how far it is off, and where its constants come from."
)


def _known(only: list[str] | None, found, what: str, names: list[str]) -> None:
    """Ends the command in one line where a name of `only` is not among those that were found."""
    if unknown := [name for name in only or [] if name not in found]:
        raise SystemExit(f"labkit: no {what} {', '.join(unknown)}; there are {', '.join(names)}")


@commands.command()
def accuracy(
    only: Annotated[
        Optional[list[str]],
        typer.Argument(help="Cases by the beginning of their names, e.g. add/ matmul/6; default: all."),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object: median_abs_error, p90_abs_error, ... and all rows.")
    ] = False,
    models: Annotated[bool, typer.Option("--models/--no-models", help="Ask the public models as well.")] = True,
    write: Annotated[
        bool, typer.Option("--write", help="Write data/clock_accuracy.csv and the README's table.")
    ] = False,
) -> None:
    """Predicted against measured, for every published case: task time and each pipe."""
    from labkit.build.runtime import Progress
    from labkit.calibration import report
    from labkit.calibration.accuracy import accuracy as run
    from labkit.calibration.cases import cases, published

    facts = published()
    names = [c.name for c in cases() if c.name in facts]
    _known(only, [name for name in only or [] if any(n.startswith(name) for n in names)], "case begins with",
           sorted({n.partition("/")[0] + "/" for n in names}))  # fmt: skip
    result = run(only or [], models=models, progress=Progress(words="clock"))
    if as_json:
        print(result.json())
    else:
        report.show(result)
    if write:
        report.write(result)


@commands.command()
def fit(
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Put the constants into the chip's table; with --cross the errors into data/clock_cross.csv.",
        ),
    ] = False,
    only: Annotated[
        Optional[list[str]], typer.Option("--only", help="This constant and no other, e.g. gm.l2; may be repeated.")
    ] = None,
    cross: Annotated[
        bool, typer.Option("--cross", help="Instead: leave out each group in turn and say how well it is predicted.")
    ] = False,
) -> None:
    """The constants that the published kernels determine, from data/published_times.csv."""
    from labkit.calibration import fit as fitting

    _known(only, fitting.CONSTANTS, "constant is called", sorted(fitting.CONSTANTS))
    if cross:
        found = fitting.cross(say=print)
        print(fitting.said_of(found))
        if write:
            fitting.write_cross(found)
        return
    result = fitting.fit(say=print, only=only or ())
    print(f"error {result.before:.3f} -> {result.after:.3f} in {result.runs} runs")
    if write:
        fitting.write(result.constants)


@commands.command()
def operators(
    fit: Annotated[
        bool, typer.Option("--fit", help="Find the constants anew; else those of the chip's table.")
    ] = False,
    cross: Annotated[
        bool, typer.Option("--cross", help="Also by constants that were fitted without a row's source: two minutes.")
    ] = False,
    write: Annotated[
        bool, typer.Option("--write", help="Write data/operator_costs.csv and, after a fit, the chips' tables.")
    ] = False,
    only: Annotated[
        Optional[list[str]],
        typer.Option(
            "--only", help="With --fit: this class's constants and no others, e.g. attention; may be repeated."
        ),
    ] = None,
) -> None:
    """PyTorch's operators on the simulated device against published times, class by class."""
    from labkit import device
    from labkit.calibration import operators as costs

    _known(only, costs.CLASSES, "class is called", sorted(costs.CLASSES))
    if only and not fit:
        raise SystemExit("labkit: --only says which constants --fit looks for; give both")
    device.install()
    costs.judge(fit, cross, write, only or ())


@commands.command()
def measured(
    files: Annotated[
        Optional[list[str]], typer.Argument(help="Tables of `labkit batch --target npu`; default: data/measured/.")
    ] = None,
) -> None:
    """Modelled beside measured, as nodes have given it back."""
    from pathlib import Path

    from labkit.batch import measured as tables

    try:
        rows = [row for name in files or [None] for row in tables.read(Path(name) if name else None)]
    except FileNotFoundError as error:
        from labkit import messages

        key = "batch.measured-no-file" if files else "batch.measured-none"
        raise SystemExit(f"labkit: {messages.text(key, file=error.filename)}") from None
    except (OSError, ValueError) as error:
        raise SystemExit(f"labkit: {error}") from None
    print(tables.show(rows))
