"""Commands about this machine."""

from __future__ import annotations

import json
from typing import Annotated, Optional

import typer

_STATE_STYLE = {"PASS": "green", "WARN": "yellow", "FAIL": "bold red", "SKIP": "dim", "TODO": "cyan"}


def console():
    from rich.console import Console

    return Console(soft_wrap=True, highlight=False)


def show(to, lines) -> None:
    """(state, text) lines; the word always stands there, colour only repeats it."""
    from rich.text import Text

    for state, line in lines:
        to.print(Text(f"{state:<6}" if state else "", style=_STATE_STYLE.get(state, "")) + Text(line))


commands = typer.Typer()


@commands.command()
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
        out = console()
        show(out, report.lines())
        out.print(f"\n{report.summary()}", markup=False)
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


@commands.command()
def prebuild() -> None:
    """Build the twin and the simulated device now rather than at their first use."""
    from labkit import messages
    from labkit.environment import housekeeping

    for name, seconds in housekeeping.prebuild():
        print(
            messages.text("doctor.ready", part=messages.text(f"doctor.part.{name}"), seconds=f"{seconds:.1f}"),
            flush=True,
        )


@commands.command()
def clean() -> None:
    """Throw away everything that was built. Code and progress stay."""
    from labkit import messages, paths
    from labkit.environment import housekeeping

    print(messages.text("doctor.freed", mb=f"{housekeeping.clear() / 2**20:.0f}", folder=paths.cache_dir()))


@commands.command()
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
