"""From a parsed source to notebook cells, in any variant: unsolved, solved, with one mutant; in English or Chinese.

Ids are a hash of the notebook's id and the cell's key, so that building twice gives the same bytes
and a moved exercise keeps its id.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from labkit import messages
from labkit.book.chapters import opening_lines
from labkit.exercises.handle import hint_text
from labkit.exercises.question import answer, evaluate, question
from labkit.exercises.spec import Spec, load, pick
from labkit.exercises.stub import template
from labkit.notebook import claims
from labkit.notebook.source import Claim, Code, ExerciseMark, Markdown, SetupMark, Source

KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE_INFO = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python", "pygments_lexer": "ipython3"}
SHOWN_HINTS = 2  # the third is nearly the code: only labkit.hint() gives it

PARAMETERS_CELL = """# The session's parameters; papermill -p sets them from outside.
TARGET = "auto"  # type: str   # "auto", "twin" or "npu"
DEVICE = 0  # type: int   # which NPU
SEED = 0  # type: int   # of the data
STRICT = False  # type: bool   # a check that is not PASS raises
QUICK = False  # type: bool   # fewer cases"""

_SETUP_CELL = """import labkit

labkit.setup(TARGET, DEVICE, SEED, STRICT, QUICK)"""

_SETUP_CELL_ZH = """import os

os.environ["LABKIT_LANG"] = "zh"
import labkit

labkit.setup(TARGET, DEVICE, SEED, STRICT, QUICK)"""


_CPP = re.compile(r"%%ascendc\b|%%exercise\b(?s:.*?)(?m:^\s*//|;[ \t]*(?://.*)?$)")


def is_cpp(text: str) -> bool:
    """Whether a cell holds C++: an exercise's does where a line is a comment of C++ or ends with a semicolon. The same
    expression is in scripts/labextensions, which colours these cells in JupyterLab.
    """
    return bool(_CPP.match(text))


@dataclass(frozen=True)
class Variant:
    """kind: "unsolved", "solved" or "mutant" (solved but for mutant `index` of `exercise`)."""

    kind: str = "unsolved"
    exercise: str = ""
    index: int = 0
    lang: str = "en"


def notebook(source: Source, variant: Variant = Variant(), *, with_claims: bool = False) -> dict:
    """The whole notebook, un-run. with_claims: with a cell for each claim, which raises where it does not hold."""
    maker = _Maker(source, variant, with_claims)
    checked = {"claims": source.claims_hash} if source.claims and variant.lang == "en" else {}
    return {
        "cells": maker.run(),
        "metadata": {
            "kernelspec": KERNELSPEC,
            "language_info": LANGUAGE_INFO,
            "labkit": {
                "id": source.id,
                "minutes": source.minutes,
                "variant": variant.kind,
                "language": variant.lang,
                **checked,
            },
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def exercise_cell(spec: Spec, variant: Variant = Variant()) -> str:
    """The text of the cell in which the exercise is solved."""
    if spec.kind == "predict":
        return f'labkit.predict("{spec.id}", {_prediction(spec, variant)})'
    ours = template(spec)
    if variant.kind == "unsolved":
        body = ours.stub(variant.lang)
    elif variant.kind == "mutant" and variant.exercise == spec.id:
        body = ours.mutant(spec.mutants[variant.index].regions, spec.mutants[variant.index].edit)
    else:
        body = ours.solution()
    return f"%%exercise {spec.id}\n{body}"


def _prediction(spec: Spec, variant: Variant) -> str:
    if variant.kind == "unsolved":
        return "..."
    value = (
        evaluate(spec, spec.mutants[variant.index].value)
        if variant.kind == "mutant" and variant.exercise == spec.id
        else answer(spec)
    )
    return repr(value[0] if isinstance(value, (list, tuple)) else value)


class _Maker:
    def __init__(self, source: Source, variant: Variant, with_claims: bool = False):
        self.with_claims = with_claims
        self.source, self.variant, self.lang = source, variant, variant.lang
        self.cells: list[dict] = []
        self.counts: dict[str, int] = {}

    def run(self) -> list[dict]:
        self.markdown(self.title(), "title")
        blocks = list(self.source.blocks)
        if not any(isinstance(b, SetupMark) for b in blocks):
            blocks.insert(1 if blocks and isinstance(blocks[0], Markdown) else 0, SetupMark(0))
        asked = False  # is there a prediction above, in this section, that a cell's output may give away?
        for block in blocks:
            if isinstance(block, Markdown):
                self.markdown(block.zh if self.lang == "zh" and block.zh else block.en)
                asked &= not re.search(r"(?m)^## ", block.en) or self.source.number.endswith(".99")
            elif isinstance(block, Code):
                # JupyterLab shows three dots in its place, and the output when the cell is run
                folded = {"jupyter": {"outputs_hidden": True}} if asked else {}
                self.code(block.text, block.tags, block.key and f"key {block.key}", **folded)
            elif isinstance(block, ExerciseMark):
                self.exercise(block)
                asked |= load(block.id).kind == "predict"
            elif isinstance(block, Claim):
                if self.with_claims:
                    tags = (claims.TAG, "nbval-ignore-output")
                    self.code(claims.cell(block), tags, f"claim {block.line}", labkit={"claim": block.line})
            else:
                # Folded: nothing of it is needed for the first idea. The target differs from machine to machine, so its
                # line is not compared.
                begin = _SETUP_CELL_ZH if self.lang == "zh" else _SETUP_CELL
                self.code(PARAMETERS_CELL, ("parameters",), "parameters", jupyter={"source_hidden": True})
                self.code(begin, ("setup", "nbval-ignore-output"), "setup", jupyter={"source_hidden": True})
        return self.cells

    def title(self) -> str:
        unit = "分钟" if self.lang == "zh" else "minutes"
        lines = [f"# {self.source.number} {self.source.title[self.lang]}", f"*{self.source.minutes} {unit}*"]
        return "\n\n".join([*lines, *opening_lines(self.source.id, self.lang)])

    def id(self, kind: str, key: str) -> str:
        if not key:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            key = f"{kind} {self.counts[kind]}"
        return hashlib.sha256(f"{self.source.id}\n{key}".encode()).hexdigest()[:12]

    def markdown(self, text: str, key: str = "") -> None:
        self.cells.append({"cell_type": "markdown", "id": self.id("markdown", key), "metadata": {}, "source": text})

    def code(self, text: str, tags=(), key: str = "", **metadata) -> None:
        if tags:
            metadata["tags"] = list(tags)
        if "hide-input" in tags:
            metadata["jupyter"] = {**metadata.get("jupyter", {}), "source_hidden": True}
        self.cells.append(
            {
                "cell_type": "code",
                "id": self.id("code", key),
                "metadata": metadata,
                "source": text,
                "execution_count": None,
                "outputs": [],
            }
        )

    def exercise(self, mark: ExerciseMark) -> None:
        spec = load(mark.id)
        self.markdown(self.header(spec), f"header {spec.id}")
        if spec.kind != "predict" and mark.brief:
            self.code(f'labkit.exercise("{spec.id}").brief()', ("hide-input",), f"brief {spec.id}")
        self.code(exercise_cell(spec, self.variant), ("exercise",), f"exercise {spec.id}", labkit={"exercise": spec.id})
        self.markdown(self.hints(spec), f"hints {spec.id}")

    def header(self, spec: Spec) -> str:
        say = messages.text
        badge = say(
            "exercise.badge",
            lang=self.lang,
            difficulty=spec.difficulty,
            importance=spec.importance,
            minutes=spec.minutes,
        )
        if spec.kind == "predict":
            badge += say("exercise.badge-predict", lang=self.lang)
            task = question(spec, self.lang)
        else:
            badge += (
                say(
                    "exercise.badge-lines" if spec.lines > 1 else "exercise.badge-line",
                    lang=self.lang,
                    lines=spec.lines,
                )
                if spec.lines
                else ""
            )
            todos = [r.todo[self.lang] for r in template(spec).regions]
            todo = todos[0] if len(todos) == 1 else "".join(f"\n{k}. {t}" for k, t in enumerate(todos, 1))
            task = say("exercise.task", lang=self.lang, todo=todo)
        colon = "：" if self.lang == "zh" else ": "
        return (
            f"### {say('exercise.header', lang=self.lang)}{colon}{pick(spec.title, self.lang)}\n\n*{badge}*\n\n{task}"
        )

    def hints(self, spec: Spec) -> str:
        parts = []
        for level in range(1, SHOWN_HINTS + 1):
            summary = messages.text("exercise.hint-summary", lang=self.lang, level=level)
            parts.append(f"<details><summary>{summary}</summary>\n\n{hint_text(spec, level, self.lang)}\n\n</details>")
        return "\n".join(parts)
