"""The program `labkit`. A thin layer: every command calls one function of another room, imported when it runs.

Nothing at the top may import torch, IPython or a notebook library: `labkit --help` answers in a fraction of a second.
Exit codes: 0 all well, 1 something failed or is to be done, 2 the command was written wrongly.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

app = typer.Typer(
    name="labkit",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="The Ascend C lab: kernels, exercises and notebooks, with or without an NPU.",
)
bench = typer.Typer(no_args_is_help=True, help="Measure.")
app.add_typer(bench, name="bench")

_STATE_STYLE = {"PASS": "green", "WARN": "yellow", "FAIL": "bold red", "SKIP": "dim", "TODO": "cyan"}


def _console():
    from rich.console import Console

    return Console(soft_wrap=True, highlight=False)


def _show(console, lines) -> None:
    """(state, text) lines; the word always stands there, colour only repeats it."""
    from rich.text import Text

    for state, line in lines:
        console.print(Text(f"{state:<6}" if state else "", style=_STATE_STYLE.get(state, "")) + Text(line))


# ---- the machine


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable, on standard output.")] = False,
    symptom: Annotated[
        Optional[str], typer.Option(help="Instead: what to ask and to run for a symptom, e.g. 'times jump', 507015.")
    ] = None,
) -> None:
    """What this machine has, what it lacks, and the command that mends it. Exit code 1 only on FAIL, or where no entry
    fits a symptom."""
    from labkit import environment

    if symptom is not None:
        _symptom(symptom, as_json)
        return
    report = environment.doctor()
    if as_json:
        print(json.dumps(report.json(), indent=2, ensure_ascii=False))
    else:
        console = _console()
        _show(console, report.lines())
        console.print(f"\n{report.summary()}", markup=False)
    raise typer.Exit(0 if report.ok else 1)


def _symptom(text: str, as_json: bool) -> None:
    from labkit import messages
    from labkit.environment import troubleshooting

    found = troubleshooting.look_up(text)
    if as_json:
        print(json.dumps([one.json() for one in found], indent=2, ensure_ascii=False))
    elif found:
        print("\n\n".join(map(str, found)))
    else:
        known = "; ".join(f"{one.id} ({one.what})" for one in troubleshooting.troubles())
        print(messages.text("doctor.symptom.none", text=text, known=known))
    if not found:
        raise typer.Exit(1)


@app.command()
def prebuild() -> None:
    """Build the twin and the simulated device now rather than at their first use."""
    from labkit.environment import housekeeping

    for name, seconds in housekeeping.prebuild():
        print(f"{name}: ready ({seconds:.1f} s)", flush=True)


@app.command()
def clean() -> None:
    """Throw away everything that was built. Code and progress stay."""
    from labkit import paths
    from labkit.environment import housekeeping

    print(f"{housekeeping.clear() / 2**20:.0f} MB freed in {paths.cache_dir()}")


@app.command()
def lang(
    wanted: Annotated[
        Optional[str], typer.Argument(metavar="[en|zh]", help="Print the line that sets it in a shell.")
    ] = None,
) -> None:
    """The language of messages. To change it: eval "$(labkit lang zh)", or LABKIT_LANG=zh in front of a command."""
    from labkit import messages

    if wanted is None:
        print(messages.language())
    elif wanted in messages.LANGUAGES:
        print(f"export LABKIT_LANG={wanted}")
    else:
        raise typer.BadParameter(f"{wanted!r} is none of {', '.join(messages.LANGUAGES)}")


# ---- the clock

clock = typer.Typer(
    no_args_is_help=True, help="The modelled clock: how far it is off, and where its constants come from."
)
app.add_typer(clock, name="clock")


@clock.command()
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
    from labkit.calibration import report
    from labkit.calibration.accuracy import accuracy as run

    result = run(only or [], models=models)
    if as_json:
        print(result.json())
    else:
        report.show(result)
    if write:
        report.write(result)


@clock.command()
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


@clock.command()
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
) -> None:
    """PyTorch's operators on the simulated device against published times, class by class."""
    from labkit import device
    from labkit.calibration import operators as costs

    device.install()
    costs.judge(fit, cross, write)


# ---- programs, kernels and exercises


@app.command(context_settings={"allow_interspersed_args": False})
def run(
    path: Annotated[Path, typer.Argument(exists=True, help="A source file with a main(), or a sample's folder.")],
    arguments: Annotated[Optional[list[str]], typer.Argument(help="Handed to the program.")] = None,
    define: Annotated[
        Optional[list[str]],
        typer.Option("-D", metavar="NAME=VALUE", help="As for cmake; also replaces NAME=... in a README's commands."),
    ] = None,
    chip: Annotated[str, typer.Option(help="The chip whose table the clock uses.")] = "910B1",
    schedule: Annotated[
        str, typer.Option(help="program, or worst: every transfer as late as the order allows.")
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

    if chip not in chips.names():
        raise typer.BadParameter(f"{chip!r} is none of {', '.join(chips.names())}", param_hint="--chip")
    if schedule not in ("program", "worst"):
        raise typer.BadParameter(f"{schedule!r} is none of program, worst", param_hint="--schedule")
    if l2 not in ("warm", "cold"):
        raise typer.BadParameter(f"{l2!r} is none of warm, cold", param_hint="--l2")
    settings = program.Settings(chip, timeout, threads, checks, schedule, l2)
    definitions = dict(word.partition("=")[::2] for word in define or [])
    try:
        if path.is_dir():
            result = program.run_folder(
                path, arguments or [], settings, definitions=definitions, in_place=in_place, capture=as_json
            )
        else:
            result = program.run_file(path, arguments or [], settings, definitions=definitions, capture=as_json)
    except program.NoProgram as error:
        sys.exit(f"labkit: {error}")
    if as_json:
        print(json.dumps(result.json(), ensure_ascii=False, indent=2))
    else:
        print("\n".join(result.lines() + [messages.text("program.died")] * bool(result.died)))
    raise typer.Exit(result.exit_code)


@app.command()
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


@app.command()
def stub(exercise: Annotated[str, typer.Argument(help="The exercise's id.")]) -> None:
    """The part of an exercise that is yours to write: labkit stub ID > mine.asc"""
    import labkit

    print(labkit.exercise(exercise).stub())


@app.command()
def check(
    exercise: Annotated[str, typer.Argument(help="The exercise's id, as its cell shows it.")],
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="What `labkit stub` printed, filled in.")],
) -> None:
    """Judge your solution. Exit code 0 on PASS and SKIP, 1 on FAIL and TODO."""
    import labkit

    source, first_line = file.read_text(encoding="utf-8"), 1
    if source.startswith("%%exercise"):
        source, first_line = source.partition("\n")[2], 2
    try:
        result = labkit.check(exercise, source, first_line=first_line)
    except TypeError as error:  # a prediction: answered in the notebook
        sys.exit(f"labkit: {error}")
    print(result)
    raise typer.Exit(0 if result.state in ("PASS", "SKIP") else 1)


@app.command()
def hint(exercise: Annotated[str, typer.Argument(help="The exercise's id.")]) -> None:
    """The next hint: each call gives one more, three in all."""
    import labkit

    print(labkit.hint(exercise))


@app.command()
def progress() -> None:
    """Which exercises are solved, and what comes next."""
    import labkit

    print(labkit.progress())


@app.command()
def serve(
    port: Annotated[int, typer.Option(help="The port on 127.0.0.1.")] = 8000,
    naive: Annotated[bool, typer.Option("--naive", help="Without any of the six steps.")] = False,
    queue: Annotated[int, typer.Option(help="Requests that may wait; one more gets a 429.")] = 64,
    seed: Annotated[int, typer.Option(help="Of the model's random weights.")] = 0,
) -> None:
    """Serve a small decoder with random weights, OpenAI-style, on this machine alone: notebook 06.03."""
    from labkit import device, messages
    from labkit.serving import endpoint
    from labkit.serving.settings import NAIVE, ladder

    kind = messages.text("bench.modelled" if device.install() == "sim" else "bench.measured")
    settings = (NAIVE if naive else ladder()[-1][1]).with_(queue=queue)
    print(messages.text("serving.started", model=endpoint.MODEL, port=port, kind=kind), flush=True)
    endpoint.serve(port, settings, seed)


# ---- the workbook


@app.command()
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


@app.command(
    "run-notebooks",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def run_notebooks(context: typer.Context) -> None:
    """Run the workbook with papermill: run/*.ipynb and run/index.html. Arguments are those of labkit.notebook.run."""
    from labkit.notebook import run

    raise typer.Exit(run.main(context.args))


# ---- traces

traces = typer.Typer(no_args_is_help=True, help="Recordings of a profiler, of a node or of the simulated device.")
app.add_typer(traces, name="trace")


def _show_trace(result, html: Path | None, as_json: bool) -> None:
    """A report or a comparison, on standard output and, where asked for, as a page."""
    if html is not None:
        print(f"{result.save(html)}", file=sys.stderr)
    print(json.dumps(result.json(), indent=2, ensure_ascii=False) if as_json else result.text())


@traces.command("report")
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


@traces.command("compare")
def trace_compare(
    before: Annotated[Path, typer.Argument(help="The recording before the change.")],
    after: Annotated[Path, typer.Argument(help="The recording after it.")],
    html: Annotated[Optional[Path], typer.Option("--html", metavar="FILE", help="Also write it as one page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """What changed between two recordings, by step, cause, kernel and shape, and whether it is more than noise."""
    from labkit import trace

    _show_trace(trace.compare(before, after), html, as_json)


@bench.command("self")
def bench_self(
    slow: bool = typer.Option(False, help="Also load_inline and Triton's interpreter (minutes)."),
    as_json: bool = typer.Option(False, "--json", help="Print the rows as JSON."),
) -> None:
    """The lab's own speed, as ratios taken in one run: tests/speed of the checkout."""
    from labkit.paths import repo_root

    sys.path.insert(0, str(repo_root() / "tests"))
    import speed

    speed.main(slow=slow, as_json=as_json)


@bench.command("check")
def bench_check(
    script: Path = typer.Argument(exists=True, dir_okay=False, help="A benchmark in Python."),
    arguments: Optional[list[str]] = typer.Argument(None, help="Handed to the script."),
    timeout: float = typer.Option(120.0, help="Seconds that a run of the script may take."),
    as_json: bool = typer.Option(False, "--json", help="One JSON object on standard output."),
) -> None:
    """Run a benchmark script under observation, on the simulated device, and name what is wrong with its numbers.
    Exit 1 where something is, 2 where it is no Python."""
    from labkit import bench as kit

    try:
        verdict = kit.check(script, *arguments or [], timeout=timeout)
    except SyntaxError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    print(json.dumps(verdict.json(), indent=2, ensure_ascii=False) if as_json else verdict)
    raise typer.Exit(0 if verdict.ok else 1)


@bench.command("compare")
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
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    for one in [*compared, *lacking]:
        typer.echo(str(one))
    if slower := many.slower(compared, together):
        typer.echo(messages.text("bench.gate_slower", count=len(slower), names=", ".join(slower)))
        raise typer.Exit(1)
    typer.echo(messages.text("bench.gate_held", count=len(compared)))


@bench.command("show")
def bench_show(
    results: Annotated[Path, typer.Argument(help="Results: .json, .db, or JSON of pytest-benchmark.")],
    plots: Annotated[Optional[Path], typer.Option(metavar="FOLDER", help="Also draw each one, as SVG.")] = None,
) -> None:
    """Print what a file of results says, with what is to be noted of each; exit 2 where it cannot be read."""
    from labkit import bench
    from labkit.bench import timing

    try:
        measured = bench.load(results)
    except (ValueError, OSError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None
    for number, one in enumerate(measured):
        one.notes = timing.notes(one, timing.AIM)
        typer.echo(repr(one))
        if plots:
            plots.mkdir(parents=True, exist_ok=True)
            for kind in ("samples", "distribution"):
                typer.echo(f"  {getattr(bench.plot, kind)(one).save(plots / f'{number}_{kind}.svg')}")


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
            "install -e '.[lab]'"
        )
    except Exception as error:
        if not _mendable(error):
            raise
        sys.exit(f"labkit: {error}")
