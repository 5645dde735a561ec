"""Streams, devices and processes on the modelled clock, one card that several processes use, and how workers fail."""

from __future__ import annotations

import pytest
import torch

import labkit
from labkit import bench
from labkit.bench.workers import Workers
from labkit.device import card


@pytest.fixture(scope="module", autouse=True)
def npu():
    labkit.device.install()


def copying(i: int):
    """A copy in, an operator, a copy out: 23, 1 and 23 us, one behind the other on a stream."""
    x, y = torch.ones(1 << 16).npu(), torch.ones(1 << 16).pin_memory()
    out = torch.empty(1 << 16).pin_memory()

    def step():
        x.copy_(y, non_blocking=True)
        out.copy_(x, non_blocking=True)

    return step


def sleeping(i: int):
    return lambda: labkit.device.launch("busy", 20.0)  # of all cores


def test_two_streams_copy_in_both_directions_at_once_and_more_gain_nothing():
    s = bench.streams(copying, (1, 2, 4), seconds=0.002)
    assert s.rates[1] / s.rates[0] == pytest.approx(2, rel=0.03)
    assert s.rates[2] == pytest.approx(s.rates[1], rel=0.05)
    assert s.points[2].bound.startswith("copy") and s.lost(2) > 0.4 and s.lost(0) == 0
    assert "streams, 4:" in repr(s) and s.table()["streams"].tolist() == [1, 2, 4]


def test_two_streams_on_the_same_cores_gain_nothing():
    s = bench.streams(sleeping, (1, 2), seconds=0.002)
    assert s.rates[1] == pytest.approx(s.rates[0], rel=0.02) and s.points[1].bound == "vector"


def test_a_step_may_do_several_items():
    one, three = (bench.streams(sleeping, (1,), seconds=0.002, items=n).rates[0] for n in (1, 3))
    assert three == pytest.approx(3 * one)
    for wrong in ((), (2, 1), (0, 1)):
        with pytest.raises(ValueError, match="rise"):
            bench.streams(sleeping, wrong)


def test_processes_with_a_card_each_lose_nothing_and_on_one_card_they_share_it():
    own = bench.processes(sleeping, (1, 2), seconds=0.002)
    assert own.rates[1] == pytest.approx(2 * own.rates[0], rel=1e-3) and own.time_kind == "modelled"
    runs = [bench.processes(sleeping, (1, 2), seconds=0.002, one_card=True) for _ in range(2)]
    assert runs[0].rates == runs[1].rates, "the same whatever the machine does meanwhile"
    assert runs[0].rates[1] == pytest.approx(runs[0].rates[0], rel=0.02), "the cores were busy already"
    assert runs[0].points[1].used.engines["vector"] == pytest.approx(1, abs=0.02)
    mixed = bench.processes(copying, (1, 2), seconds=0.002, one_card=True)
    assert mixed.rates[1] == pytest.approx(2 * mixed.rates[0], rel=0.05), "one copies in while the other copies out"


def test_one_process_that_drives_many_devices_is_bound_by_its_host():
    s = bench.devices(lambda i: lambda: labkit.device.launch("busy", 10.0), (1, 2, 4), seconds=0.002)  # 6 us to issue
    assert s.rates[1] / s.rates[0] == pytest.approx(10 / 6, rel=0.05)
    assert s.rates[2] == pytest.approx(s.rates[1], rel=0.02) and s.points[2].bound == "host"


def test_a_worker_that_raises_says_so_and_the_next_question_is_answered():
    def asked(state, number, fail):
        if fail and number == 1:
            raise KeyError("gone")
        return number, state.setdefault("calls", 0)

    with Workers(2) as workers:
        with pytest.raises(RuntimeError, match="worker 1: KeyError: 'gone'"):
            workers.call(2, asked, True)
        assert workers.call(2, asked, False) == [(0, 0), (1, 0)]
        workers.processes[1].kill()
        with pytest.raises(RuntimeError, match="worker 1"):
            workers.call(2, asked, False)


def test_a_card_needs_its_file_and_a_seat(tmp_path):
    (tmp_path / "small").write_bytes(b"x")
    file = card.make(str(tmp_path))
    for wrong in ((str(tmp_path / "none"), 0, 1), (str(tmp_path / "small"), 0, 1), (file, 2, 2), (file, 0, 65)):
        with pytest.raises(RuntimeError, match="no card"):
            with card.shared(*wrong):
                pass
    with card.shared(file, 0, 1), pytest.raises(RuntimeError, match="no card"):
        with card.shared(file, 0, 1):
            pass
