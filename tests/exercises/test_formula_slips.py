"""A wrong prediction is told by the slip that gives its number, and only where no other slip does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from labkit.exercises import formula_slips, timing
from labkit.exercises.prediction import examine
from labkit.exercises.question import answer
from labkit.exercises.spec import Spec, load, load_all
from labkit.launch.record import LaunchRecord


def asked(value: str, question: str = "", **given) -> Spec:
    """A question that nobody asks."""
    spec = load("q02_overlap")
    texts = {"en": question, "zh": question}
    return replace(spec, given=given, question=texts, answer=replace(spec.answer, value=value, unit=""))


@pytest.mark.parametrize(
    "value, given, wrong, said",
    [
        ("a + b + c", {"a": 7, "b": 11, "c": 300}, 307, "11 (`b`) is left out"),
        ("a * b + c", {"a": 7, "b": 11, "c": 300}, 307, "11 (`b`) is left out"),
        ("a * b / c", {"a": 7, "b": 11, "c": 13}, 77, "nothing is divided by 13 (`c`)"),
        ("a - b * c", {"a": 700, "b": 11, "c": 13}, 843, "143 (`b * c`) is added; it has to be taken off"),
        ("a / (b * c)", {"a": 700, "b": 11, "c": 13}, 843 / 143, "one too many: 143 (`b * c`) is added to 700 (`a`)"),
        ("a / b", {"a": 700, "b": 11}, 700 / 711, "700 (`a`) is added to 11 (`b`)"),
        ("1 / (1 - p / 100 + p / 100 / t)", {"p": 30, "t": 3}, 1.875, "30 (`p`) and what is left of the whole"),
        ("1 - p + p / t", {"p": 0.3, "t": 5}, 0.44, "0.3 (`p`) and what is left of the whole"),
        ("w / (w - f + f / c)", {"w": 3065, "f": 420, "c": 2.5}, 3065 / 2897, "Saved is 420 (`f`) less 168 (`f / c`)"),
        ("a * b / 1e6", {"a": 7000, "b": 11000}, 77 / 1.048576, "2**20 is taken for 10**6"),
        ("a * b / 2**30", {"a": 70000, "b": 1100000}, 77, "10**9 is taken for 2**30"),
        ("4", {}, 5, ""),
        ("5 * a * b", {"a": 7, "b": 11}, 4 * 77, "4 in place of 5"),
        ("n * ceil(a / b)", {"n": 100, "a": 17, "b": 5}, 300, "3.4 (`a / b`) is rounded down"),
        ("n * ceil(a / b)", {"n": 100, "a": 17, "b": 5}, 340.0, "3.4 (`a / b`) is not rounded"),
        ("max(a, b, c) + d", {"a": 31, "b": 47, "c": 59, "d": 1000}, 1137, "all are added up; only the largest counts"),
        ("a * b + c", {"a": 6, "b": 17, "c": 1000}, 1204, ""),  # a or b twice: nobody knows
        ("a * (b + c)", {"a": 3, "b": 41, "c": 17}, 3 * (41 + 2 * 17), "17 (`c`) is counted twice"),
        ("a * b + c", {"a": 4, "b": 36, "c": 5}, 4 * 36 + 4 * 5, "5 (`c`) is counted 4 (`a`) times"),
        ("part / whole", {"part": 3, "whole": 8}, 0.625, "the rest: what is left of 1"),
        ("a * b / c", {"a": 10, "b": 70, "c": 3}, 3 / 700, "the other way round"),
        ("size % tile", {"size": 1000, "tile": 300}, 3, "the whole quotient"),
        ("a * b + c", {"a": 4, "b": 36, "c": 5}, 12345, ""),
        ("a * b", {"a": 7, "b": 11, "cores": 48}, 77 / 48, "divided by 48 (`cores`) as well"),
        ("a * b", {"a": 7, "b": 11, "cores": 48}, 77 * 48, "multiplied by 48 (`cores`) as well"),
        ("ms / 1000 * n", {"ms": 18, "n": 250}, 4500, ""),  # a unit: prediction-unit-factor says so
    ],
)
def test_the_slip_that_gives_the_number(value, given, wrong, said):
    spec = asked(value, **given)
    told = formula_slips.sentence(spec, wrong, answer(spec))
    assert said in told and bool(said) == bool(told), told


def test_a_number_on_the_way_is_varied_in_all_its_places_unless_the_question_shows_it():
    given = {"m": 64, "n": 256, "load": "=m / 2 + n / 2", "mul": 500}
    said = formula_slips.sentence(asked("(load + mul) / load", **given), (32 + 500) / 32, 4.125)
    assert "128 (`n / 2`) is left out" in said
    assert not formula_slips.sentence(asked("(load + mul) / load", "{load} cycles", **given), (32 + 500) / 32, 4.125)


def test_what_takes_the_same_number_twice_is_said_in_both_ways():
    result = examine(load("q01_events"), 4)
    assert "told apart" in result.lines[0] and "a slot is free" in result.lines[0] and " Or: " in result.lines[0]


def test_right_answers_and_the_known_wrong_ones_are_not_disturbed():
    """A formula's own value is no slip, on all predictions of the workbook; nothing raises for odd numbers."""
    for spec in load_all():
        if spec.kind == "predict" and spec.answer.type == "number":
            right = answer(spec)
            assert formula_slips.sentence(spec, right, right) == "", spec.id
            for odd in (-1, float("inf"), float("nan")):
                formula_slips.sentence(spec, odd, right)


# ---- what a slow kernel does more than ours


def launch(busy: str, **sums: float) -> LaunchRecord:
    fields = {name: 0.0 for name in ("bytes.to_ub", "bytes.to_l1", "bytes.to_l1_nz", "bytes.from_ub", "bytes.from_l0c",
                                     "moves.to_ub", "moves.to_l1", "moves.to_l1_nz", "moves.from_ub", "moves.from_l0c",
                                     "instructions.V", "instructions.M", "instructions.S")}  # fmt: skip
    cores = int(sums.pop("cores", 2))
    each = fields | {name.replace("__", "."): n / cores for name, n in sums.items()}
    record = LaunchRecord("twin", "k", cores, 10.0, "modelled", "910B1", busy={"V": 1.0, busy: 8.0}, core_us=10.0)
    record.cores = [dict(each) for _ in range(cores)]
    return record


BASE = {
    "bytes__to_ub": 8000.0,
    "moves__to_ub": 8.0,
    "moves__from_ub": 8.0,
    "bytes__from_ub": 8000.0,
    "instructions__V": 40.0,
}


@pytest.mark.parametrize(
    "busy, change, said",
    [
        ("MTE2", {"bytes__to_ub": 32000.0}, "4.0 times as many bytes from GM as ours: 32,000, ours 8,000"),
        (
            "MTE2",
            {"moves__to_ub": 80.0, "instructions__V": 4000.0},
            "5.5 times as many pieces as ours: 88 of 182 bytes",
        ),
        ("V", {"instructions__V": 200.0, "moves__to_ub": 800.0}, "5.0 times as many vector instructions"),
        ("MTE3", {"bytes__from_ub": 16000.0}, "2.0 times as many bytes to GM"),
        ("S", {"instructions__V": 400.0}, "10.0 times as many vector instructions"),  # nothing of S: what there is
        ("S", {"instructions__V": 4.0}, "The scalar unit works 80 % of the time where ours computes with vector"),
        ("V", {"cores": 1}, "have work: 1; with ours 2"),
        ("V", {}, "waits more: its busiest pipe, V, works 80 % of the time, that of ours 80 %"),
        ("V", {"instructions__V": 50.0}, "waits more"),
    ],
)
def test_a_slow_kernel_is_told_by_what_keeps_it_busy(busy, change, said):
    assert said in timing.difference(*(timing._sums(launch(busy, **sums)) for sums in (BASE | change, BASE)))


def test_a_kernel_whose_pipe_works_all_the_time_does_not_wait():
    mine, ours = (timing._sums(launch(pipe, **BASE)) for pipe in ("S", "V"))
    mine["share"], mine["us"] = 0.95, {"S": 270.0}
    assert timing.difference(mine, ours | {"us": {"S": 1.0}}) == "S works for 270.0 us, with ours for 1.0 us."


def test_without_the_cores_sums_nothing_is_said():
    measured = LaunchRecord("npu", "k", 2, 10.0, "measured", "910B1")
    assert timing.difference(timing._sums(measured), timing._sums(launch("V", **BASE))) == ""
