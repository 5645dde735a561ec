"""What an instruction's modelled time depends on: the repeats, strides, rows and rounds that there really are."""

from __future__ import annotations

import pytest
from places import KERNELS

import labkit


@pytest.fixture(scope="module")
def busy():
    import torch

    def run(entry: str, *args: int) -> float:
        record = labkit.kernel(KERNELS / "charged.asc", entry=entry)[1](torch.zeros(8).npu(), *args)
        assert record.finished and not record.findings, record.report()
        return record.busy["V"]

    return run


def test_in_counter_mode_the_repeats_that_are_passed_cost_nothing(busy):
    assert len({busy("counter", times) for times in (0, 1, 128)}) == 1


@pytest.mark.parametrize("select", range(2))
def test_strides_meet_in_the_banks(busy, select):
    assert busy("strides", select, 16) > busy("strides", select, 1)


def test_fewer_rows_of_a_softmax_take_less(busy):
    times = [busy("softmax", rows) for rows in (1, 8, 16, 32, 64)]
    assert times == sorted(set(times))


def test_the_rounds_of_a_sum_along_rows_share_its_elements(busy):
    """With room for all six groups of 16 rows at once, for four, three, two and one."""
    times = [busy("cumsum", groups) for groups in (6, 4, 3, 2, 1)]
    assert times == sorted(times) and times[1] == times[2] and times[-1] < 1.5 * times[0]
