"""labkit trace: what a recording says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

commands = typer.Typer(no_args_is_help=True, help="Recordings of a profiler, of a node or of the simulated device.")


def _show_trace(result, html: Path | None, as_json: bool) -> None:
    """A report or a comparison, on standard output and, where asked for, as a page."""
    if html is not None:
        print(f"{result.save(html)}", file=sys.stderr)
    print(json.dumps(result.json(), indent=2, ensure_ascii=False) if as_json else result.text())


@commands.command("report")
def trace_report(
    path: Annotated[
        Path,
        typer.Argument(
            help="*_ascend_pt or PROF_* folder, their parent, trace_view.json, kernel_details.csv, or a .db."
        ),
    ],
    html: Annotated[Optional[Path], typer.Option("--html", metavar="FILE", help="Also write it as one page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Where the time goes, what is wrong and what to do about it. Exit code 1 when the path cannot be read."""
    from labkit import trace

    _show_trace(trace.report(path), html, as_json)


@commands.command("compare")
def trace_compare(
    before: Annotated[Path, typer.Argument(help="The recording before the change.")],
    after: Annotated[Path, typer.Argument(help="The recording after it.")],
    html: Annotated[Optional[Path], typer.Option("--html", metavar="FILE", help="Also write it as one page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """What changed between two recordings, by step, cause, kernel and shape, and whether it is more than noise."""
    from labkit import trace

    _show_trace(trace.compare(before, after), html, as_json)
