"""One object per exercise with the verbs that a learner needs: brief, check, hint, reset, compare, give_up, status."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Any

from labkit import messages
from labkit.exercises.judge import check, forget, has_passed, hint_level, passed_cell
from labkit.exercises.prediction import predict, show
from labkit.exercises.progress_log import progress
from labkit.exercises.progress_log import record as log
from labkit.exercises.question import answer, filled, question
from labkit.exercises.result import CODE, Result, Shown
from labkit.exercises.spec import HINT_LEVELS, Spec, pick
from labkit.exercises.stub import template


@dataclass(frozen=True)
class Exercise:
    """An exercise of the workbook. Its verbs return something to look at; only unknown ids and misuse raise."""

    spec: Spec

    @property
    def id(self) -> str:
        return self.spec.id

    def __repr__(self) -> str:
        return str(self.status())

    def status(self) -> Shown:
        """Title, difficulty, importance, minutes, and the state in the log."""
        row = next(r for r in progress(only=self.id).rows if r.exercise == self.id)
        s = self.spec
        return Shown(
            messages.text(
                "exercise.status",
                id=s.id,
                title=pick(s.title),
                difficulty=s.difficulty,
                importance=s.importance,
                minutes=s.minutes,
                state=row.state or messages.text("exercise.not-tried"),
            )
        )

    def brief(self) -> Shown:
        """The given code, read-only, with the learner's part marked; the question of a prediction."""
        return Shown(question(self.spec)) if self.spec.kind == "predict" else given_code(self.spec)

    def stub(self) -> str:
        """The exercise cell as it was, magic line included."""
        if self.spec.kind == "predict":
            return f'labkit.predict("{self.id}", ...)'
        return f"%%exercise {self.id}\n{template(self.spec).stub(messages.language())}"

    def check(self, source: Any = None) -> Result:
        """Check `source`, or the last cell that was run (for a prediction: the answer)."""
        return (
            predict(self.id, ... if source is None else source)
            if self.spec.kind == "predict"
            else check(self.id, source)
        )

    def hint(self) -> Shown:
        """The next hint, one level a call; the last one again when there are no more."""
        level = hint_level(self.id) + 1
        key = "exercise.hint" if level <= HINT_LEVELS else "exercise.hint-last"
        level = min(level, HINT_LEVELS)
        hint_level(self.id, level)
        log("hint", self.id, hint_level=level)
        return Shown(messages.text(key, level=level, levels=HINT_LEVELS, text=hint_text(self.spec, level)))

    def reset(self) -> Shown:
        """The stub again, as a new cell where the front end can add one; hints start over."""
        forget(self.id)
        log("reset", self.id)
        _next_cell(self.stub())
        return Shown(f"{messages.text('exercise.reset')}\n\n{self.stub()}")

    def give_up(self) -> Shown:
        """The solution, and that it was shown goes into the log."""
        log("give-up", self.id, hint_level=hint_level(self.id))
        return self._solution()

    def compare(self) -> Shown:
        """After PASS: our solution, the learner's, and why."""
        if not has_passed(self.id):
            return Shown(messages.text("exercise.compare-locked", id=self.id))
        return self._solution(mine=passed_cell(self.id) if self.spec.kind != "predict" else None)

    def _solution(self, mine: str | None = None) -> Shown:
        parts = []
        if self.spec.kind == "predict":
            parts.append((messages.text("exercise.answer", answer=show(self.spec, answer(self.spec))), ""))
        else:
            if mine is not None:
                parts.append((messages.text("exercise.your-code"), mine))
            parts.append((messages.text("exercise.solution"), template(self.spec).solution()))
        parts.append((messages.text("exercise.why-title"), ""))
        parts.append((filled(self.spec, self.spec.why), ""))
        plain = "\n".join(f"{head}\n\n{code}\n" if code else head for head, code in parts)
        return Shown(
            plain,
            "".join(
                f"<div>{html.escape(head)}</div>" + (f"<pre style='{CODE}'>{html.escape(code)}</pre>" if code else "")
                for head, code in parts
            ),
        )


def hint_text(spec: Spec, level: int, lang: str | None = None) -> str:
    """Hint `level`, counted from 1."""
    return filled(spec, spec.hints[level - 1], lang)


def given_code(spec: Spec) -> Shown:
    """The whole file with line numbers; the regions hold the stub and are marked.
    Lines are those of the solution's file. Of several regions, each but the first begins with the line that separates
    it from the one before in the cell.
    """
    ours, lang = template(spec), messages.language()
    title, parts = messages.text("exercise.given", id=spec.id), len(ours.regions)
    if parts > 1:
        title = messages.text("exercise.given-parts", id=spec.id, parts=parts, line=ours.separator(2))
    rows: list[tuple[str, str, bool]] = []
    starts = {region.first: (k, region) for k, region in enumerate(ours.regions)}
    number = 1
    while number <= len(ours.lines):
        if number in starts:
            k, region = starts[number]
            mine = [ours.separator(k + 1)] * (k > 0) + ours.stubs(lang)[k].split("\n")
            rows += [("", region.indent + line, True) for line in mine]
            number = region.last + 1
        else:
            rows.append((str(number), ours.lines[number - 1], False))
            number += 1
    mark = messages.text("exercise.yours")
    plain = [f"{n:>4} {'>' if mine else '|'} {line}".rstrip() for n, line, mine in rows]
    body = []
    for n, line, mine in rows:
        text = f"{n:>4} {'>' if mine else ' '} {html.escape(line)}"
        body.append(
            f"<b title='{html.escape(mark)}' style='border-left:3px solid currentColor'>{text}</b>" if mine else text
        )
    code, summary = "\n".join(body), re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(title))
    return Shown(
        f"{title}\n" + "\n".join(plain),
        f"<details open><summary>{summary}</summary><pre "
        f"style='max-height:60em;overflow:auto;white-space:pre;line-height:1.3;{CODE}'>{code}</pre></details>",
    )


def _next_cell(text: str) -> None:
    try:
        from IPython import get_ipython
    except ImportError:
        return
    shell = get_ipython()
    if shell is not None and hasattr(shell, "kernel"):
        shell.set_next_input(text)
