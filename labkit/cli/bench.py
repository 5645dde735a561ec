"""labkit bench: measure, compare, check."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

commands = typer.Typer(no_args_is_help=True, help="Measure.")


@commands.command("self")
def bench_self(
    slow: bool = typer.Option(False, help="Also load_inline and Triton's interpreter (minutes)."),
    as_json: bool = typer.Option(False, "--json", help="Print the rows as JSON."),
) -> None:
    """The lab's own speed, as ratios taken in one run: tests/speed of the checkout."""
    from labkit.paths import repo_root

    sys.path.insert(0, str(repo_root() / "tests"))
    import speed

    speed.main(slow=slow, as_json=as_json)


@commands.command("check")
def bench_check(
    script: Path = typer.Argument(exists=True, dir_okay=False, help="A benchmark in Python."),
    arguments: Optional[list[str]] = typer.Argument(None, help="Handed to the script."),
    timeout: float = typer.Option(120.0, help="Seconds that a run of the script may take."),
    as_json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
) -> None:
    """Run a benchmark script under observation, on the simulated device, and name what is wrong with its numbers.
    Exit 1 where something is, 2 where it is no Python or ended before it measured."""
    from labkit import bench as kit
    from labkit import messages

    messages.note(messages.text("bench.checking", script=script.name))
    try:
        verdict = kit.check(script, *arguments or [], timeout=timeout)
    except SyntaxError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    print(json.dumps(verdict.json(), indent=2, ensure_ascii=False) if as_json else verdict)
    raise typer.Exit(2 if verdict.ended else 0 if verdict.ok else 1)


@commands.command("compare")
def bench_compare(
    old: Path = typer.Argument(help="Results of before: .json, .db, or JSON of pytest-benchmark."),
    new: Path = typer.Argument(help="Results of now."),
    together: bool = typer.Option(False, help="One false alarm in 100 runs of all comparisons together, not of each."),
) -> None:
    """Compare two files of results; exit 1 where something is significantly slower, 2 where they cannot be compared."""
    from labkit import messages
    from labkit.bench import many
    from labkit.bench.results import gate

    try:
        compared, lacking = gate(old, new)
    except (ValueError, OSError) as error:
        typer.echo(f"labkit: {messages.unreadable(error) if isinstance(error, OSError) else error}", err=True)
        raise typer.Exit(2) from None
    for one in [*compared, *lacking]:
        typer.echo(str(one))
    if slower := many.slower(compared, together):
        typer.echo(messages.text("bench.gate_slower", count=len(slower), names=", ".join(slower)))
        raise typer.Exit(1)
    typer.echo(messages.text("bench.gate_held", count=len(compared)))


@commands.command("show")
def bench_show(
    results: Annotated[Path, typer.Argument(help="Results: .json, .db, or JSON of pytest-benchmark.")],
    plots: Annotated[Optional[Path], typer.Option(metavar="FOLDER", help="Also draw each one, as SVG.")] = None,
) -> None:
    """Print what a file of results says, with what is to be noted of each; exit 2 where it cannot be read."""
    from labkit import bench, messages
    from labkit.bench import timing

    try:
        measured = bench.load(results)
    except (ValueError, OSError) as error:
        typer.echo(f"labkit: {messages.unreadable(error) if isinstance(error, OSError) else error}", err=True)
        raise typer.Exit(2) from None
    for number, one in enumerate(measured):
        one.notes = timing.notes(one, timing.AIM)
        typer.echo(repr(one))
        if plots:
            plots.mkdir(parents=True, exist_ok=True)
            for kind in ("samples", "distribution"):
                typer.echo(f"  {getattr(bench.plot, kind)(one).save(plots / f'{number}_{kind}.svg')}")
