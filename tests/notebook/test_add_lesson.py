"""Copies that the first lesson needs, held together: add.asc and its exercises,
the case in the notebook and its repair.
"""

from __future__ import annotations

import pytest

from labkit import paths
from labkit.exercises.spec import load
from labkit.exercises.stub import normalise, template
from labkit.notebook import source

ADD = paths.kernels_dir() / "add" / "add.asc"
LESSON = paths.notebooks_dir() / "source" / "01.01_first_kernel.md"


def lines(text: str) -> list[str]:
    return [line for line in normalise(text, "//").split("\n") if line]


@pytest.mark.parametrize("name", ["look_repair", "add_copy_in", "add_compute", "add_copy_out"])
def test_an_exercise_is_the_kernel_with_a_region_marked(name):
    spec = load(name)
    assert lines(spec.solution_path.read_text(encoding="utf-8")) == lines(ADD.read_text(encoding="utf-8"))


def test_the_case_in_the_notebook_is_the_one_to_repair():
    cell = next(
        b.text
        for b in source.read(LESSON).blocks
        if isinstance(b, source.Code) and b.text.startswith("%%ascendc larger")
    )
    ours = template(load("add_case_repair"))
    stub = ours.join(ours.stub(), "case").text
    assert lines(cell.split("\n", 1)[1]) == [line for line in lines(stub) if not line.startswith("#line")]


def test_code_shown_in_the_text_is_the_kernels():
    """What a fence shows before an exercise is what the learner's lines come to stand in."""
    kernel = set(lines(ADD.read_text(encoding="utf-8")))
    texts = [text for b in source.read(LESSON).blocks if isinstance(b, source.Markdown) for text in (b.en, b.zh)]
    fences = [part.split("```")[0] for text in texts for part in text.split("```cpp\n")[1:]]
    assert len(fences) == 4
    assert not [line for fence in fences for line in lines(fence) if line not in kernel]
