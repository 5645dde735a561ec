"""labkit batch: many notebooks on many devices."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

commands = typer.Typer()


@commands.command()
def batch(
    notebooks: Annotated[Optional[list[str]], typer.Argument(help="Numbers, ids, files; all without one.")] = None,
    target: Annotated[str, typer.Option(help="auto, twin or npu: the parameter TARGET.", show_default=False)] = "",
    chip: Annotated[str, typer.Option(help="The chip to simulate, e.g. 910B4.", show_default=False)] = "",
    seed: Annotated[Optional[int], typer.Option(help="The parameter SEED.", show_default=False)] = None,
    p: Annotated[
        Optional[list[str]], typer.Option("-p", help="NAME=VALUE: a parameter of the notebooks' parameters cell.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results; the same one again goes on.")] = Path("run/batch"),
    solved: Annotated[bool, typer.Option("--solved", help="With our solutions in the exercise cells.")] = False,
    workers: Annotated[
        int, typer.Option(help="Processes of the local cluster; 0: one a processor, or one an NPU.")
    ] = 0,
    cluster: Annotated[str, typer.Option(help="Address of a Dask scheduler, e.g. tcp://node:8786.")] = "",
    resources: Annotated[str, typer.Option(help="What a notebook takes of a worker's, e.g. npu=1.")] = "",
    timeout: Annotated[float, typer.Option(help="Seconds that a notebook may take.")] = 1800.0,
    cell_timeout: Annotated[int, typer.Option(help="Seconds that a cell may take.")] = 600,
    again: Annotated[str, typer.Option(help="failed or all: run them although they are done.")] = "",
    measure: Annotated[
        bool, typer.Option("--measure/--no-measure", help="With --target npu: modelled beside measured, each kernel.")
    ] = True,
) -> None:
    """Run notebooks with papermill, each in a process of its own, scheduled by Dask. Interrupted, it goes on later."""
    from labkit import messages, paths
    from labkit.batch import job, schedule
    from labkit.batch import run as running

    given = _given(p or [], target, seed)
    npu = given.get("TARGET") == "npu"
    try:
        for option, value in (("--timeout", timeout), ("--cell-timeout", cell_timeout), ("--workers", workers + 1)):
            if value <= 0:
                raise ValueError(messages.text("batch.bad-number", option=option, value=value))
        if again not in ("", "failed", "all"):
            raise ValueError(f"--again is {again!r}; it must be failed or all")
        wanted = schedule.resources(resources) or ({"npu": 1.0} if npu else {})
        here = job.visible_devices() if npu and not cluster else []
        count = workers or len(here) or (1 if npu else len(os.sched_getaffinity(0)))
        named = [int(given["DEVICE"])] if given.get("DEVICE", "").isdigit() else []
        place = schedule.Place(cluster, count, wanted, named if npu else None)
        code = running.run(
            notebooks or [], given, out, place,
            chip=chip, solved=solved, timeout=timeout, cell_timeout=cell_timeout, again=again,
        )  # fmt: skip
        if npu and measure:
            from labkit.batch import measured

            measured.make(out / "measured.csv")
    except (ValueError, FileNotFoundError, BlockingIOError, schedule.NoCluster) as error:
        print(f"labkit: {error}", file=sys.stderr)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        print(messages.text("batch.interrupted", folder=paths.display_path(out)), file=sys.stderr)
        raise typer.Exit(130) from None
    raise typer.Exit(code)


def _given(words: list[str], target: str, seed: int | None) -> dict[str, str]:
    given = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            print(f"labkit: -p {word!r} is not NAME=VALUE, for example -p SEED=3", file=sys.stderr)
            raise typer.Exit(2)
        given[name] = value
    return given | ({"TARGET": target} if target else {}) | ({"SEED": str(seed)} if seed is not None else {})
