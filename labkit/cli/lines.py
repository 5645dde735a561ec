"""Lines with a state, as several commands print them."""

from __future__ import annotations

_STATE_STYLE = {"PASS": "green", "WARN": "yellow", "FAIL": "bold red", "SKIP": "dim", "TODO": "cyan"}


def console():
    from rich.console import Console

    return Console(soft_wrap=True, highlight=False)


def show(to, lines) -> None:
    """(state, text) lines; the word always stands there, colour only repeats it."""
    from rich.text import Text

    for state, line in lines:
        to.print(Text(f"{state:<6}" if state else "", style=_STATE_STYLE.get(state, "")) + Text(line))
