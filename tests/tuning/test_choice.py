"""labkit.tuning.Choice: the fastest implementation by chip and shape, what is kept, what is only predicted."""

import json

import pytest
import torch
import torch.nn.functional as F

from labkit import chips
from labkit.tuning import Choice

CHIPS = ("910B1", "910B2", "910B3", "910B4")


def tensors(rows=16, width=256):
    return torch.empty(rows, width), torch.empty(rows, width)


def swiglu(gate, up):
    return F.silu(gate) * up


@pytest.mark.parametrize("chip", CHIPS)
def test_the_clock_decides_on_each_chip(chip, tmp_path):
    choice = Choice("swiglu", swiglu, file=tmp_path / "kept.json")
    guess = choice.pick(*tensors(), chip=chip)
    assert guess.how == "predicted" and guess.name == "fused" and "nobody has timed" in guess.reason
    timed = choice.time(*tensors(), chip=chip)
    assert timed.name == "fused" and timed.us < timed.times["chain"] and timed.kind == "modelled"
    again = Choice("swiglu", swiglu, file=tmp_path / "kept.json").pick(*tensors(), chip=chip)
    assert again == timed and chip in again.reason and again.how == "timed"


def by_hand(us):
    calls = []

    def time(given, chip):
        calls.append((tuple(given[0].shape), chip))
        return us(given[0].numel(), chip)

    return calls, time


def test_what_was_timed_is_not_timed_again_and_other_sizes_are(tmp_path):
    calls, own = by_hand(lambda n, chip: 0.5)
    choice = Choice("swiglu", swiglu, by_hand={"mine": own}, file=tmp_path / "kept.json")
    assert set(choice.pick(*tensors()).times) == {"chain", "fused"}, "nobody knows how fast mine is"
    assert choice.time(*tensors()).name == "mine" and len(calls) == 1
    assert choice.pick(*tensors()).name == "mine" and len(calls) == 1
    near = choice.pick(*tensors(32))
    assert near.how == "predicted" and near.times["mine"] == 1.0, "twice the bytes of the nearest sizes"
    assert choice.pick(*tensors(), chip="910B4").how == "predicted", "another chip"
    assert set(choice.pick(*tensors(), chip="910B4").times) == {"chain", "fused"}


def test_the_fastest_depends_on_the_chip_and_on_the_shape(tmp_path):
    _, own = by_hand(lambda n, chip: 1.0 if chip == "910B4" and n < 5000 else 1000.0)
    choice = Choice("swiglu", swiglu, by_hand={"mine": own}, file=tmp_path / "kept.json")
    for chip in ("910B1", "910B4"):
        for rows in (16, 32):
            choice.time(*tensors(rows), chip=chip)
    picked = {(c, r): choice.pick(*tensors(r), chip=c).name for c in ("910B1", "910B4") for r in (16, 32)}
    assert picked == {("910B1", 16): "fused", ("910B1", 32): "fused", ("910B4", 16): "mine", ("910B4", 32): "fused"}


def test_tuning_makes_the_fused_one_no_slower(tmp_path):
    plain = Choice("swiglu", swiglu, file=tmp_path / "a.json").time(*tensors(64, 1000))
    tuned = Choice("swiglu", swiglu, budget=12, file=tmp_path / "b.json").time(*tensors(64, 1000))
    assert tuned.times["fused"] <= plain.times["fused"]


def test_times_of_another_table_are_not_used(tmp_path):
    file = tmp_path / "kept.json"
    chips.variant("changed", {"base": "910B1"})
    Choice("swiglu", swiglu, file=file).time(*tensors(), chip="changed")
    assert Choice("swiglu", swiglu, file=file).pick(*tensors(), chip="changed").how == "timed"
    chips.variant("changed", {"base": "910B1", "gm": {"hbm": 1e11}})
    assert Choice("swiglu", swiglu, file=file).pick(*tensors(), chip="changed").how == "predicted"


def test_a_broken_file_and_wrong_names(tmp_path):
    file = tmp_path / "kept.json"
    file.write_text("{ not json")
    choice = Choice("swiglu", swiglu, file=file)
    assert choice.pick(*tensors()).how == "predicted"
    choice.time(*tensors())
    assert len(json.loads(file.read_text())) == 1
    with pytest.raises(ValueError, match="no chip"):
        choice.pick(*tensors(), chip="910C")
    with pytest.raises(ValueError, match="generated"):
        Choice("swiglu", swiglu, by_hand={"fused": lambda t, c: 1.0})
