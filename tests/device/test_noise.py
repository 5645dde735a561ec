"""labkit.device.noise: what makes measured times differ, repeatable by its seed."""

from __future__ import annotations

import contextlib
import math
import os
import statistics
import time

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402

import labkit.device as device  # noqa: E402

pytestmark = simulated


@pytest.fixture
def x():
    yield torch.ones(1 << 20, device="npu")
    device.noise(None)


def times(x, count: int = 200) -> list[float]:
    """Device time of `count` equal additions, each after a rest."""
    device.reset_clock()
    for _ in range(count):
        x.add_(0)
        torch.npu.synchronize()
        device.host_work(1000)
    return [s.end_us - s.start_us for s in device.timeline()]


def test_off_unless_asked_for(x):
    assert len(set(round(t, 6) for t in times(x, 20))) == 1


def test_the_seed_decides(x):
    quiet = times(x, 1)[0]
    with device.noise(7):
        first = times(x)
    with device.noise(7):
        again = times(x)
    with device.noise(8):
        other = times(x)
    assert first == again and first != other and times(x, 1)[0] == quiet
    assert statistics.mean(first) == pytest.approx(quiet, rel=0.01)
    assert statistics.stdev(first) / quiet == pytest.approx(0.03, rel=0.2)


@pytest.mark.parametrize(
    "level", [{"jitter": float("inf")}, {"outlier_us": float("inf")}, {"jitter": float("nan")}, {"hot_ms": -1}]
)
def test_a_level_that_no_time_can_have(level):
    with pytest.raises(ValueError, match=f"{next(iter(level))}.*out of range"):
        device.noise(1, **level)


def test_the_first_launch_costs_the_host(x):
    def host_us():
        before = device.clock().host_us
        x.mul_(1)
        return device.clock().host_us - before

    with device.noise(1, jitter=0, outliers=0):
        first, second = host_us(), host_us()
    assert first - second == pytest.approx(20_000)


def test_outliers(x):
    def issue():
        device.reset_clock()
        before, gaps = 0.0, []
        for _ in range(1000):
            x.view(-1).add_(0)
            gaps.append(device.clock().host_us - before)
            before = device.clock().host_us
        return gaps

    with device.noise(3, jitter=0, first_launch_us=0, outliers=0.02):
        gaps = issue()
    late = [g for g in gaps if g > 100]
    assert 8 <= len(late) <= 35 and 150 < statistics.median(late) < 460


def test_a_hot_chip_is_slower_until_it_rests(x):
    with device.noise(1, jitter=0, outliers=0, first_launch_us=0, hot_ms=0.1, slower=1.5):
        device.reset_clock()
        for _ in range(100):
            x.add_(0)
        hot = [s.end_us - s.start_us for s in device.timeline()]
        torch.npu.synchronize()
        device.host_work(10_000)
        x.add_(0)
        rested = device.timeline()[-1]
    assert hot[0] == pytest.approx(min(hot)) and hot[-1] == pytest.approx(max(hot)) == pytest.approx(1.5 * hot[0])
    assert rested.end_us - rested.start_us == pytest.approx(hot[0])


def test_a_chip_whose_vector_and_cube_cores_take_turns_gets_hot_too(x):
    a = torch.ones(1024, 1024).npu()
    a @ a
    with device.noise(1, jitter=0, outliers=0, first_launch_us=0, hot_ms=0.15, slower=1.5):
        device.reset_clock()
        for _ in range(20):
            x.add_(0)
            a @ a
        took = [(s.name, s.end_us - s.start_us) for s in device.timeline()]
    for name in ("aten::add_", "aten::mm"):
        cold, *_, hot = [us for launched, us in took if launched == name]
        assert hot == pytest.approx(1.5 * cold)


def test_nonsense_is_refused(x):
    nan = float("nan")
    for wrong in (dict(jitter=-1), dict(slower=0.5), dict(outliers=2), dict(jitter=nan), dict(slower=nan)):
        with pytest.raises(ValueError, match="noise"):
            device.noise(1, **wrong)


def test_on_a_card_nothing_is_disturbed_and_the_model_is_not_asked(monkeypatch):
    from labkit.device import detect, library

    for owner, name, value in ((device, "_mode", "npu"), (detect, "_answer", True), (library, "_loaded", None)):
        monkeypatch.setattr(owner, name, value)
    with device.noise(1):
        device.launch("mine", 3.0)
        device.touch_l2(0, 64)
        device.clear_l2()
    begin = time.perf_counter()
    device.host_work(2000.0)
    assert time.perf_counter() - begin >= 2e-3
    assert math.isnan(device.held_l2(None))
    for asks in (device.shapes_only, device.pieces):
        with pytest.raises(RuntimeError, match="LABKIT_DEVICE=sim"), contextlib.ExitStack() as stack:
            stack.enter_context(asks()) if asks is device.shapes_only else asks()
