"""The board: every notebook with its exercises, what has been passed, tried and not yet opened, and what comes next.

From the same log as `labkit next` and labkit.progress(). A table in plain HTML; in JupyterLab, where ipywidgets is
there, a list of stages and a button that reads the log again stand above it. The picture is the `value` of an HTML
widget: nothing here needs an Output context.
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import lru_cache

from labkit import messages
from labkit.book.chapters import Chapter, chapters, stages
from labkit.exercises.order import following
from labkit.exercises.progress_log import Row, progress
from labkit.exercises.spec import load, pick
from labkit.figures.svg import plain

SIGNS = {"passed": "✓", "tried": "◐", "open": "○"}


def state(row: Row) -> str:
    """ "passed", "tried" or "open". A stub that was run unchanged, or a check that was skipped, leaves it open."""
    return "passed" if row.state == "PASS" else "tried" if row.attempts else "open"


@dataclass(frozen=True, repr=False)
class Board:
    """A snapshot of the log. stage: "01" for one stage, "" for all."""

    rows: dict[str, Row]  # by exercise
    stage: str = ""

    def chapters(self) -> list[Chapter]:
        return [c for c in chapters() if c.exercises and c.number.startswith(self.stage)]

    def counts(self, chapter: Chapter) -> dict[str, int]:
        """How many of a notebook's exercises are passed, tried, open."""
        states = [state(self.rows[name]) for name in chapter.exercises if name in self.rows]
        return {name: states.count(name) for name in SIGNS}

    def spent(self, chapter: Chapter) -> float:
        """Minutes that the log shows at this notebook's exercises."""
        return sum(self.rows[name].minutes for name in chapter.exercises if name in self.rows)

    def next(self) -> str:
        """What comes next, as one sentence."""
        name = following("", {n for n, row in self.rows.items() if row.state == "PASS"})
        if not name:
            return messages.text("exercise.all-done")
        at = next((c.number for c in chapters() if name in c.exercises), "-")
        return messages.text("book.next", exercise=name, title=pick(load(name).title), notebook=at)

    def _total(self) -> str:
        counts = [self.counts(c) for c in self.chapters()]
        return messages.text("book.total", **{name: sum(c[name] for c in counts) for name in SIGNS})

    def __repr__(self) -> str:
        lines = [self._total(), self.next()]
        for c in self.chapters():
            signs = "".join(SIGNS[state(self.rows[n])] for n in c.exercises if n in self.rows)
            spent = messages.text("book.spent", spent=f"{self.spent(c):.0f}", minutes=c.minutes)
            lines.append(f"{c.number}  {signs:14} {spent}  {c.name}")
        lines.append("  ".join(f"{sign} {messages.text(f'book.{name}')}" for name, sign in SIGNS.items()))
        return "\n".join(lines)

    def html(self) -> str:
        """The table. Each sign has its exercise and its state in words behind it (title), and counts stand beside."""
        esc, left = html.escape, "style='text-align:left'"
        heads = ("notebook", "exercises", "passed", "tried", "open", "time")
        body = []
        for s in stages():
            inside = [c for c in self.chapters() if c.stage == s.number]
            if inside:
                body.append(f"<tr><th colspan='6' {left}>{s.number} {esc(s.title[messages.language()])}</th></tr>")
            for c in inside:
                counts = self.counts(c)
                signs = " ".join(self._sign(n) for n in c.exercises if n in self.rows)
                spent = messages.text("book.spent", spent=f"{self.spent(c):.0f}", minutes=c.minutes)
                cells = (
                    f"{c.number} {esc(c.name)}",
                    signs,
                    *(str(counts[n]) for n in SIGNS),
                    esc(spent).replace(" ", "&nbsp;"),
                )
                body.append("<tr>" + "".join(f"<td {left}>{cell}</td>" for cell in cells) + "</tr>")
        head = "".join(f"<th {left}>{esc(messages.text(f'book.{name}'))}</th>" for name in heads)
        legend = ", ".join(f"{sign} {messages.text(f'book.{name}')}" for name, sign in SIGNS.items())
        return (
            f"<p><b>{esc(self._total())}</b><br>{esc(self.next())}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table><p>{esc(legend)}</p>"
        )

    def _sign(self, name: str) -> str:
        told = state(self.rows[name])
        tip = f"{name}: {pick(load(name).title)}, {messages.text(f'book.{told}')}"
        return f"<span title='{html.escape(tip, quote=True)}' style='font-size:120%'>{SIGNS[told]}</span>"

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if not plain():
            bundle["text/html"] = self.html()
        return bundle


def snapshot(stage: str = "") -> Board:
    """The board as the log is now. Raises ValueError for a stage that is not there."""
    if stage and stage not in [s.number for s in stages()]:
        raise ValueError(messages.text("book.no-stage", stage=stage, stages=", ".join(s.number for s in stages())))
    return Board({row.exercise: row for row in progress().rows}, stage)


@lru_cache(maxsize=1)
def _panel():
    """A VBox whose repr is the board in words, or None where ipywidgets is not installed."""
    try:
        import ipywidgets
    except ImportError:
        return None

    class Panel(ipywidgets.VBox):
        def __repr__(self) -> str:
            return repr(self.shown)

        def _repr_mimebundle_(self, **asked) -> dict:
            """The table beside the view, for what shows a page without the kernel that made it."""
            return super()._repr_mimebundle_(**asked) | {"text/html": self.shown.html()}

    return Panel


def board(stage: str = ""):
    """The board of one stage ("01"), or of all: a widget where ipywidgets is there, else a table.

    Raises ValueError for a stage that is not there.
    """
    shown = snapshot(stage)
    if plain() or _panel() is None:
        return shown
    import ipywidgets

    lang = messages.language()
    options = [(messages.text("book.all-stages"), ""), *((f"{s.number} {s.title[lang]}", s.number) for s in stages())]
    choice = ipywidgets.Dropdown(options=options, value=stage, description=messages.text("book.stage"))
    again = ipywidgets.Button(description=messages.text("book.again"))
    picture = ipywidgets.HTML(shown.html())
    panel = _panel()([ipywidgets.HBox([choice, again]), picture])
    panel.shown, panel.choice, panel.again, panel.picture = shown, choice, again, picture

    def update(_=None) -> None:
        panel.shown = snapshot(choice.value)
        picture.value = panel.shown.html()

    choice.observe(update, names="value")
    again.on_click(update)
    return panel
