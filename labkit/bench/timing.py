"""Times one function: warm until it is steady, by events on the device's stream, without a wait in the loop.

How a sample is taken. The device gets something to do first (the filler), then an event, the function, an event. While
the filler runs the host issues the rest, so the device does not wait for the host between the events, unless the
function is issued more slowly than it runs, which is then part of its time. With cache="cold" the filler writes as many
bytes as the L2 holds; with "warm" the function itself runs once behind the filler. On the simulated device the filler
is time alone, and the L2 is emptied. Samples of a round are issued one behind the other and read when all are done.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from labkit import messages
from labkit.bench import statistics
from labkit.bench.statistics import Interval
from labkit.launch import runner

ROUND = 10  # samples between two waits
LEAST, MOST = 200, 4000  # samples
WARM_LEAST, WARM_MOST = 30, 2000
AIM = 0.005  # half an interval of the median, as a share
_FILL_US = (
    150.0  # of the simulated filler: what writing an L2 of 192 MB takes, modelled; the host issues 25 kernels in it
)
_DRIFTS = 0.01  # a drift below one percent is not worth a word
_REST = 1.0  # idle time after a round, as a share of the round: the chip keeps its temperature


@dataclass
class Measurement:
    """samples: microseconds of device time, each one call, in order, from the steady state. warm: the samples before
    it. time_kind: "modelled" or "measured". note: what the reader must know."""

    name: str
    samples: np.ndarray
    warm: np.ndarray
    time_kind: str
    cache: str = "cold"
    notes: list[str] = field(default_factory=list)

    def percentile(self, q: float) -> Interval:
        return statistics.percentile(self.samples, q)

    @property
    def median(self) -> Interval:
        return self.percentile(50)

    @property
    def mean(self) -> Interval:
        return statistics.interval(self.samples)

    @property
    def std(self) -> float:
        return float(np.std(self.samples, ddof=1)) if len(self.samples) > 1 else 0.0

    @property
    def outliers(self) -> np.ndarray:
        return statistics.outliers(self.samples)

    @property
    def drift(self) -> tuple[float, float]:
        return statistics.drift(self.samples)

    @property
    def level(self) -> tuple[int, float] | None:
        """(sample, ratio) where the times change to another level, as those of a chip that lowers its clock do."""
        return statistics.change_point(self.samples)

    def row(self) -> dict:
        """What a table shows: microseconds."""
        median, p90, p99 = (self.percentile(q) for q in (50, 90, 99))
        return {
            "name": self.name,
            "median": median.value,
            "median low": median.low,
            "median high": median.high,
            "p90": p90.value,
            "p99": p99.value,
            "mean": float(np.mean(self.samples)),
            "std": self.std,
            "least": float(self.samples.min()),
            "most": float(self.samples.max()),
            "samples": len(self.samples),
            "warm": len(self.warm),
            "outliers": len(self.outliers),
            "drift": self.drift[0],
            "cache": self.cache,
            "time": self.time_kind,
        }

    def __repr__(self) -> str:
        median, p99 = self.median, self.percentile(99)
        lines = [
            messages.text(
                "bench.row",
                name=self.name,
                median=_us(median.value),
                low=_us(median.low),
                high=_us(median.high),
                p99=_us(p99.value),
                std=_us(self.std),
                count=len(self.samples),
                warm=len(self.warm),
                outliers=len(self.outliers),
                kind=messages.text(f"bench.{self.time_kind}"),
            )
        ]
        return "\n".join(lines + [f"  {note}" for note in self.notes])


def _us(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def measure(
    function: Callable[[], object],
    *,
    name: str = "",
    cache: str = "cold",
    inputs: Callable[[int], tuple] | None = None,
    aim: float = AIM,
    least: int = LEAST,
    most: int = MOST,
    rest: float = _REST,
) -> Measurement:
    """Times function() on the current device and stream.

    cache: "cold" or "warm", see above. inputs: gives the arguments of the function's i-th call, fresh ones for each
    sample; making them is not timed. aim: so many samples are taken that half the interval of the median is about
    this share of it, but no fewer than `least` and no more than `most`. rest: idle time behind each round, as a share
    of its length; 0 measures the sustained load of a chip that may get hot.
    Raises ValueError for a wrong argument, RuntimeError where no npu is there.
    """
    if cache not in ("cold", "warm"):
        raise ValueError(messages.text("bench.cache", cache=cache))
    if not (0 < aim < 1 and 0 < least <= most and rest >= 0):
        raise ValueError(messages.text("bench.limits"))
    timer = Timer(cache, rest, inputs)
    warm = warm_up(timer, function)
    # How many is settled by the warm-up, before the first sample that counts: who stops when the interval happens to be
    # narrow gets intervals that are too narrow.
    count = min(most, max(least, samples_for(warm, aim)))
    taken: list[float] = []
    while len(taken) < count:
        taken += timer.round(function, min(ROUND, count - len(taken)))
    name = name or getattr(function, "__name__", "")
    made = Measurement(name, np.array(taken), np.array(warm), timer.kind, cache)
    made.notes = notes(made, aim)
    return made


def samples_for(warm: list[float], aim: float, confidence: float = statistics.CONFIDENCE) -> int:
    """How many samples make half the interval of the median `aim`, by the spread of the steady end of the warm-up. The
    median of n normal samples has a standard deviation of sqrt(pi / 2 n) of theirs."""
    end = np.asarray(warm[statistics.steady_from(warm) :] or warm)
    middle = np.median(end)
    spread = statistics.MAD * np.median(np.abs(end - middle)) / middle if middle else 0.0
    return math.ceil(math.pi / 2 * (statistics.deviations(confidence) * spread / aim) ** 2)


def warm_up(timer: "Timer", function: Callable[[], object]) -> list[float]:
    """Runs function until its samples are steady; what was taken on the way."""
    taken: list[float] = []
    while len(taken) < WARM_MOST:
        taken += timer.round(function, ROUND)
        steady = len(taken) - statistics.steady_from(taken)
        if len(taken) >= WARM_LEAST and steady >= max(WARM_LEAST - ROUND, len(taken) // 2):
            break
    return taken


def notes(m: Measurement, aim: float) -> list[str]:
    """What a reader of the numbers must know."""
    said = []
    if len(m.warm) >= WARM_MOST:
        said.append(messages.text("bench.not_steady", count=len(m.warm)))
    if m.median.half > aim:
        said.append(messages.text("bench.wide", half=f"{100 * m.median.half:.1f}", count=len(m.samples)))
    return said + drift_notes(m.samples)


def drift_notes(samples) -> list[str]:
    """One note where the level of the samples changes on the way: a step, else a slope. False alarms: about two in a
    thousand, tests/bench/test_kit.py."""
    said = []
    change, chance = statistics.drift(samples)
    level = statistics.change_point(samples)
    if level is not None and abs(level[1] - 1) > _DRIFTS:
        said.append(messages.text("bench.level", at=level[0], change=f"{100 * (level[1] - 1):+.1f}"))
    elif chance < 1e-3 and abs(change) > _DRIFTS:
        said.append(messages.text("bench.drift", change=f"{100 * change:+.1f}"))
    return said


class Timer:
    """Takes samples. On the simulated device the events' times are modelled, on an npu measured."""

    def __init__(self, cache: str = "cold", rest: float = _REST, inputs: Callable[[int], tuple] | None = None):
        import torch

        from labkit import chips, device

        if device.mode() is None:
            device.install()
        if not hasattr(torch, "npu") or not torch.npu.is_available():
            raise RuntimeError(messages.text("bench.no_npu"))
        self.torch, self.device = torch, device
        self.simulated = device.mode() != "npu"
        self.kind = "modelled" if self.simulated else "measured"
        self.cache, self.rest, self.inputs, self._calls = cache, rest, inputs, 0
        chip = chips.flat(device.chip() or chips.DEFAULT)
        self._cycles = int(_FILL_US * 1e-6 * chip["clock.hz"])
        self._filler = None if self.simulated else torch.empty(int(chip["memory.l2"]), dtype=torch.int8, device="npu")

    def round(self, function: Callable[[], object], count: int) -> list[float]:
        """`count` samples in microseconds."""
        return [times[0] for times in self.rounds([function], count)]

    def rounds(self, functions: list[Callable[[], object]], count: int, orders=None) -> list[list[float]]:
        """`count` rows, each with a sample of every function; orders: for each row the order in which they run."""
        npu = self.torch.npu
        marks = []
        began = self._host()
        for i in range(count):
            row = [None] * len(functions)
            for which in orders[i] if orders is not None else range(len(functions)):
                function = functions[which]
                if self.inputs is not None:
                    function = functools.partial(function, *self.inputs(self._calls))
                    self._calls += 1
                self._fill(i)
                if self.cache == "warm":
                    function()
                before, after = npu.Event(enable_timing=True), npu.Event(enable_timing=True)
                before.record()
                function()
                after.record()
                row[which] = (before, after)
            marks.append(row)
        npu.synchronize()
        self._pause(self._host() - began)
        return [[1e3 * before.elapsed_time(after) for before, after in row] for row in marks]

    def _fill(self, number: int) -> None:
        if self._filler is not None:
            self._filler.fill_(number % 127)
            return
        self.torch.npu._sleep(self._cycles)
        if self.cache == "cold":
            runner.clear_l2()  # what PyTorch's operators left in it and what our kernels did

    def _host(self) -> float:
        import time

        return self.device.clock().host_us if self.simulated else time.perf_counter() * 1e6

    def _pause(self, us: float) -> None:
        if self.simulated:
            self.device.host_work(us * self.rest)
        elif self.rest:
            import time

            time.sleep(us * 1e-6 * self.rest)
