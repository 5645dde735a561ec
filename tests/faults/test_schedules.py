"""A race shows in the numbers with some seed of the adversarial schedule, and a seed gives the same numbers each time.

The races are the kernels of tests/faults/broken whose names begin so: copies of one pipe over one another (order_),
lines of the data cache that several cores store into (line_), and copies and cores in no order (early_, race_).
"""

from __future__ import annotations

import pytest
from faults import load
from places import BROKEN
from twin_launch import build_all, tensor

import labkit
from labkit.launch import record

INDEX = load(BROKEN / "index.toml")
# what goes through raw pointers is stored in GM at once, under every seed: no line of it is kept
RACES = [n for n in INDEX if n.startswith(("order_", "line_", "early_", "race_")) and n != "line_pointer"]
SEEDS = range(20)


@pytest.fixture(scope="module", autouse=True)
def built():
    build_all([INDEX[name].file for name in RACES])


def numbers(name: str, schedule: str) -> list[bytes]:
    """What a launch leaves in its tensors."""
    import torch

    from labkit import device

    device.install()
    case = INDEX[name]
    kernel = labkit.kernel(case.file, entry=case.entry, schedule=schedule)
    # what stands in memory must not depend on the launch before
    words = [a.replace("empty", "zero") if isinstance(a, str) else a for a in case.args]
    values = [tensor(a, i) if isinstance(a, str) else a for i, a in enumerate(words)]
    try:
        kernel[case.blocks](*values)
    except record.LaunchError:
        pass
    return [v.cpu().view(torch.uint8).numpy().tobytes() for v in values if hasattr(v, "cpu")]


@pytest.mark.parametrize("name", RACES)
def test_a_race_changes_the_numbers(name):
    as_written = numbers(name, "program")
    seed = next((s for s in SEEDS if numbers(name, f"worst:{s}") != as_written), None)
    assert seed is not None
    assert numbers(name, f"worst:{seed}") == numbers(name, f"worst:{seed}")


def test_the_word_without_a_seed_is_the_first():
    assert numbers("early_store", "worst") == numbers("early_store", "worst:0") != numbers("early_store", "program")


@pytest.mark.parametrize("word", ["best", "worst:", "worst:x", "worst:-1", "program:1"])
def test_other_words_are_refused(word):
    with pytest.raises(ValueError, match="schedule"):
        labkit.kernel(BROKEN / "early_store.asc", schedule=word)
