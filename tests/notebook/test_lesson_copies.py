"""Copies that lessons 01.07 to 01.14 need, held together: kernels and their exercises,
the cases in the notebooks and their repairs.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from places import REPO

from labkit.exercises.spec import load
from labkit.exercises.stub import template

CASES = {
    "01.07_row_softmax": "row_case_repair",
    "01.10_one_product": "cube_case_repair",
    "01.14_ring_between_cores": "mix_case_repair",
}
LEAKY = REPO / "kernels" / "matmul_leaky"


def with_stub(exercise: str) -> list[str]:
    """The exercise's file as its learner finds it."""
    ours = template(load(exercise))
    found, number = [], 1
    starts = {region.first: region for region in ours.regions}
    while number <= len(ours.lines):
        if region := starts.get(number):
            found += [region.indent + line for line in region.stub]
            number = region.last + 1
        else:
            found.append(ours.lines[number - 1])
            number += 1
    return found


def common() -> str:
    """The parts of both kinds of cores, which every mixed kernel by hand has."""
    text = (LEAKY / "matmul_leaky.asc").read_text(encoding="utf-8")
    return text[text.index('#include "kernel_operator.h"') : text.index("template <int32_t SLOTS>")]


@pytest.mark.parametrize("notebook, exercise", CASES.items())
def test_the_case_is_the_kernel_that_is_repaired(notebook, exercise):
    source = (REPO / "notebooks" / "source" / f"{notebook}.md").read_text(encoding="utf-8")
    text = "\n".join(with_stub(exercise)).replace(common(), "").strip("\n")
    assert text in source


@pytest.mark.parametrize("exercise", ["mix_handover", "mix_halves", "mix_ring", "mix_case_repair"])
def test_mixed_kernels_have_the_same_parts(exercise):
    assert common() in (LEAKY / "exercises" / exercise / "solution.asc").read_text(encoding="utf-8")


def test_the_exercises_of_the_attention_kernel_are_the_finished_kernel():
    """Up to the heads, the lines that regions mark and the number of steps ahead, which the finished one is given."""

    def lines(path: Path) -> list[str]:
        text = path.read_text(encoding="utf-8").split("// workspace: blocks")[0].replace("LAG = 2", "AHEAD = 2")
        marks = ("// >>>", "// <<<", "// stub:")
        return [line for line in text.splitlines() if not line.strip().startswith(marks)]

    folder = REPO / "kernels" / "cross_attention"
    for exercise in ("att_correct", "att_tail", "att_ahead"):
        assert lines(folder / "exercises" / exercise / "solution.asc") == lines(folder / "cross_attention.asc"), (
            exercise
        )


@pytest.mark.parametrize(
    "finished, exercise",
    [
        ("matmul/matmul.asc", "matmul/exercises/mm_object"),
        ("matmul/matmul.asc", "matmul/exercises/mm_host"),
        ("matmul_leaky/leaky_object.asc", "matmul_leaky/exercises/mix_object"),
    ],
)
def test_the_exercises_of_the_object_are_the_finished_kernel(finished, exercise):
    """Line by line, but for the heads and for what a region asks to be written in another way."""

    def lines(path: Path) -> set[str]:
        return {
            " ".join(line.split())
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.strip() and "//" not in line
        }

    own = lines(REPO / "kernels" / exercise / "solution.asc") - lines(REPO / "kernels" / finished)
    assert len(own) <= 10, own


def test_the_tile_that_the_compiler_chooses_is_in_the_finished_axpy():
    def lines(path: Path) -> set[str]:
        return {
            " ".join(line.split())
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.strip() and "//" not in line
        }

    axpy = REPO / "kernels" / "axpy"
    own = lines(axpy / "exercises" / "compile_tile" / "solution.asc") - lines(axpy / "axpy.asc")
    assert len(own) == 3 and any("constexpr uint32_t TILE" in line for line in own), own


def test_the_parallel_mlp_is_cut_as_the_exercise_cuts_it():
    import torch

    import labkit
    from labkit.exercises.launch import function

    spec = load("many_shards")
    exercise = function(template(spec).join(template(spec).solution(), "x").text, "x", "shards")
    weights = [torch.randn(8, 3), torch.randn(8, 3), torch.randn(3, 8)]
    for rank in range(4):
        ours = labkit.operator("swiglu_parallel").shards(rank, 4, *weights)
        assert all(torch.equal(a, b) for a, b in zip(ours, exercise(rank, 4, *weights)))


def test_the_parallel_mlp_goes_back_as_the_exercise_does():
    def code(path: str, end: str) -> list[str]:
        text = (REPO / "kernels" / "swiglu_parallel" / path).read_text(encoding="utf-8")
        lines = (line.strip() for line in text[text.index("class Enter(") : text.index(end)].splitlines())
        return [line for line in lines if line and not line.startswith(("#", '"""'))]

    assert code("module.py", "class ParallelMLP(") == code("exercises/many_backward/solution.py", "return Enter, Leave")
