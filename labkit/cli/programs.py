"""Commands that run a program, a kernel or the served model."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

commands = typer.Typer()


@commands.command(context_settings={"allow_interspersed_args": False})
def run(
    path: Annotated[Path, typer.Argument(exists=True, help="A source file with a main(), or a sample's folder.")],
    arguments: Annotated[Optional[list[str]], typer.Argument(help="Handed to the program.")] = None,
    define: Annotated[
        Optional[list[str]],
        typer.Option("-D", metavar="NAME=VALUE", help="As for cmake; also replaces NAME=... in a README's commands."),
    ] = None,
    include: Annotated[
        Optional[list[Path]], typer.Option("-I", metavar="DIR", help="A folder of headers, for a single file.")
    ] = None,
    chip: Annotated[str, typer.Option(help="The chip whose table the clock uses.")] = "910B1",
    schedule: Annotated[
        str, typer.Option(help="program; worst: every transfer as late as the order allows; worst:SEED: another order.")
    ] = "program",
    l2: Annotated[
        str, typer.Option("--l2", help="warm: a launch finds what earlier ones left in the L2. cold: an empty one.")
    ] = "warm",
    timeout: Annotated[float, typer.Option(help="Seconds that each program may take.")] = 60.0,
    threads: Annotated[int, typer.Option(help="Host threads for the blocks; 0: as many as there are cores.")] = 0,
    checks: Annotated[bool, typer.Option("--checks/--no-checks", help="Race and initialisation checks.")] = True,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Run a folder's commands in the folder itself, not in a copy.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on standard output, the program's output inside.")
    ] = False,
) -> None:
    """Build and run a whole program on the twin. Exits with the program's own status, or 3 when the checks found an
    error.
    """
    from labkit import chips, messages, program
    from labkit.launch.runner import is_schedule

    if chip not in chips.names():
        raise typer.BadParameter(f"{chip!r} is none of {', '.join(chips.names())}", param_hint="--chip")
    if not is_schedule(schedule):
        raise typer.BadParameter(f"{schedule!r} is none of program, worst, worst:SEED", param_hint="--schedule")
    if l2 not in ("warm", "cold"):
        raise typer.BadParameter(f"{l2!r} is none of warm, cold", param_hint="--l2")
    if not timeout > 0 or threads < 0:  # nan too
        raise typer.BadParameter("--timeout takes seconds above 0, --threads a number of threads or 0")
    if path.is_dir() and include:
        raise typer.BadParameter("is for a single file; a folder's own build names its headers", param_hint="-I")
    if in_place and not path.is_dir():
        raise typer.BadParameter("is for a folder", param_hint="--in-place")
    if missing := [str(d) for d in include or [] if not d.is_dir()]:
        raise typer.BadParameter(f"{missing[0]} is no folder", param_hint="-I")
    if wrong := [word for word in define or [] if not word.partition("=")[0]]:
        raise typer.BadParameter(f"{wrong[0]!r} has no name: NAME or NAME=VALUE", param_hint="-D")
    settings = program.Settings(chip, timeout, threads, checks, schedule, l2)
    definitions = dict(word.partition("=")[::2] for word in define or [])
    try:
        if path.is_dir():
            result = program.run_folder(
                path, arguments or [], settings, definitions=definitions, in_place=in_place, capture=as_json
            )
        else:
            folders = [str(d.resolve()) for d in include or []]
            result = program.run_file(
                path, arguments or [], settings, definitions=definitions, include_dirs=folders, capture=as_json
            )
    except program.NoProgram as error:
        sys.exit(f"labkit: {error}")
    if as_json:
        print(json.dumps(result.json(), ensure_ascii=False, indent=2))
    else:
        print("\n".join(result.lines() + [messages.text("program.died")] * bool(result.died)))
    raise typer.Exit(result.exit_code)


@commands.command("cmake-dir")
def cmake_dir() -> None:
    """The folder that takes CANN's place for cmake: source its set_env.sh, then find_package(ASC) finds the twin."""
    from labkit.program import cann_home

    print(cann_home.folder())


@commands.command()
def kernels() -> None:
    """The operators of the lab and their Ascend C sources."""
    from labkit import paths

    home = paths.kernels_dir()
    for folder in sorted(p for p in home.glob("*") if p.is_dir() and not p.name.startswith((".", "_"))):
        sources = sorted(str(f.relative_to(home)) for f in folder.glob("*.asc"))
        tasks = sorted(f.parent.name for f in folder.glob("exercises/*/spec.toml"))
        if sources or tasks:
            print(
                f"{folder.name:<16} {' '.join(sources) or '-'}" + (f"   exercises: {' '.join(tasks)}" if tasks else "")
            )


@commands.command()
def serve(
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port on 127.0.0.1.")] = 8000,
    naive: Annotated[bool, typer.Option("--naive", help="Without any of the six steps.")] = False,
    queue: Annotated[int, typer.Option(min=0, help="Requests that may wait; one more gets a 429.")] = 64,
    seed: Annotated[int, typer.Option(help="Of the model's random weights.")] = 0,
) -> None:
    """Serve a small decoder with random weights, OpenAI-style, on this machine alone: notebooks 06.05 and 06.06."""
    from labkit import device, messages
    from labkit.serving import endpoint
    from labkit.serving.settings import NAIVE, ladder

    try:  # before it says that it serves
        with socket.create_server(("127.0.0.1", port)):
            pass
    except OSError as error:
        raise typer.BadParameter(f"{port}: {error.strerror}", param_hint="--port") from None
    kind = messages.text("bench.modelled" if device.install() == "sim" else "bench.measured")
    settings = (NAIVE if naive else ladder()[-1][1]).with_(queue=queue)
    print(messages.text("serving.started", model=endpoint.MODEL, port=port, kind=kind), flush=True)
    endpoint.serve(port, settings, seed)
