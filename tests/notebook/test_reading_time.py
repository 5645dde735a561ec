"""Every notebook says 20 to 45 minutes; its exercises take at most two thirds of them, and its text can be read in the rest.

Read are the texts, at 200 words or 300 Chinese characters a minute, and the lines of code at 20 a minute; figures and
hints are not counted.
"""

from __future__ import annotations

import re

import pytest

from labkit.exercises.spec import load
from labkit.notebook import build
from labkit.notebook.cells import Variant, notebook

WORDS, CHARACTERS, LINES = 200, 300, 20  # a minute
SHORTEST, LONGEST, LEFT = 20, 45, 1 / 3

PROJECTS = ".98"  # a page from which one project is chosen; the projects say their own minutes


def reading(cells: list[dict]) -> float:
    """Minutes for the texts and the code of un-run cells; exercise cells are worked on, not read."""
    minutes = 0.0
    for cell in cells:
        text, tags = cell["source"], cell["metadata"].get("tags", ())
        if cell["cell_type"] == "code":
            shown = "exercise" not in tags and not cell["metadata"].get("jupyter", {}).get("source_hidden")
            minutes += shown * len([line for line in text.split("\n") if line.strip()]) / LINES
        elif "<details" not in text:
            minutes += len(re.findall(r"[\u4e00-\u9fff]", text)) / CHARACTERS
            minutes += len(re.findall(r"[A-Za-z0-9_][\w.'%-]*", text, re.A)) / WORDS
    return minutes


def exercises(src) -> int:
    return sum(load(mark.id).minutes for mark in src.exercises)


@pytest.mark.parametrize("src", [pytest.param(src, id=src.number) for src in build.chosen(None)])
def test_a_third_of_its_minutes_is_left_for_reading(src):
    assert SHORTEST <= src.minutes <= LONGEST
    if src.number.endswith(PROJECTS):
        return
    assert exercises(src) <= src.minutes * (1 - LEFT) + 1e-9, (exercises(src), src.minutes)
    for lang in ("en", "zh"):
        needed = exercises(src) + reading(notebook(src, Variant(lang=lang))["cells"])
        assert needed <= src.minutes, (lang, needed, src.minutes)


def test_what_is_counted():
    text = {"cell_type": "markdown", "metadata": {}, "source": "one two " * 100 + "读" * 300}
    code = {"cell_type": "code", "metadata": {}, "source": "x = 1\n\n" * 20}
    folded = {**code, "metadata": {"jupyter": {"source_hidden": True}}}
    hint = {"cell_type": "markdown", "metadata": {}, "source": "<details> " + "word " * 1000}
    assert reading([text, code, folded, hint]) == pytest.approx(3.0)
