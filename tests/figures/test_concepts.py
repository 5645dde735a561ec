"""The pictures of an idea: what they say must be what the rule gives, also where that is nothing."""

from __future__ import annotations

import pytest

from labkit import figures
from labkit.figures.concepts import _queued


def test_a_share_is_followed_into_its_slots():
    figure = figures.slicing(10_000, 8, 256, 2, 2)
    assert "1,264 elements in 5 tiles" in figure.desc  # 79 units of 16
    assert "slot 0: tiles 0, 2, 4" in figure.desc and "slot 1: tiles 1, 3" in figure.desc
    last = figures.slicing(10_000, 8, 256, 2, 2, block=7)
    assert "Block 7 works on 1,152 elements" in last.desc
    few = figures.slicing(1000, 8, 256, 3, 2)
    assert "slot 1: not used" in few.desc and "1 of them" in few.desc


def test_two_slots_let_the_slowest_pipe_set_the_pace():
    figure = figures.buffering(0.3, 0.5, 0.2, 6)
    # one slot: load and compute in turn, 6 x 0.8, and the last store; two: the first load, 6 x 0.5, the last store
    assert "One slot 5.00 us, two 3.50 us: 1.43 times" in figure.desc and "V alone" in figure.desc
    assert "MTE2 alone" in figures.buffering(0.9, 0.1, 0.2, 4).desc


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_no_slot_is_written_before_its_reader_is_done(slots):
    steps = {(s.lane, s.number): s for s in _queued((("in", 0.2), ("work", 0.7), ("out", 0.4)), 8, slots)}
    for first, second in (("in", "work"), ("work", "out")):
        for i in range(8):
            assert steps[second, i].start >= steps[first, i].end
            if i >= slots:
                assert steps[first, i].start >= steps[second, i - slots].end - 1e-12


def test_one_launch_instead_of_two():
    figure = figures.cube_vector(2.0, 1.5, 4, launch=3.0)
    assert "Two launches 17.00 us, one 9.50 us" in figure.desc and "AIC sets the pace" in figure.desc
    assert "AIV sets the pace" in figures.cube_vector(1.0, 1.5, 4).desc


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: figures.slicing(100, 4, 0),
        lambda: figures.slicing(100, 4, 16, 5),
        lambda: figures.slicing(100, 4, 16, block=4),
        lambda: figures.buffering(0, 1, 1),
        lambda: figures.buffering(1, 1, 1, 13),
        lambda: figures.cube_vector(1, 1, 1),
        lambda: figures.cube_vector(1, 1, 4, -1),
        lambda: figures.buffering(float("nan"), 1, 1),
        lambda: figures.buffering(1, float("inf"), 1),
        lambda: figures.cube_vector(1, 1, 4, float("nan")),
    ],
)
def test_numbers_that_make_no_picture_are_refused(wrong):
    with pytest.raises(ValueError, match="want"):
        wrong()
