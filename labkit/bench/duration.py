"""How much gets done in a time: steps issued without a wait between them, for a duration, in windows.

A latency is one call alone; a throughput is many calls behind each other, and the two do not follow from each other.
The host runs at most two windows ahead, as a program with a bounded queue does. A window ends when its work is done,
so the rate's interval comes from windows, and a rate that falls on the way (a chip that gets hot) is seen.
"""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from labkit import messages
from labkit.bench import statistics
from labkit.bench.statistics import Interval
from labkit.bench.timing import drift_notes
from labkit.bench.utilisation import Utilisation, utilisation

WINDOWS = 30  # enough to see a step in their middle with a chance of one in a thousand
SECONDS = 0.05  # of the modelled or measured time
_LEAD = 3  # windows: their queues are as long as they get
_AHEAD = 2  # windows that the host issues before it waits
_FAR_AHEAD = 5  # times the duration: a warm-up that takes longer ends


@dataclass
class Throughput:
    """windows: microseconds of each window of equal work, in order. rate: items per second, with its interval.
    host: the share of the time in which the host was not waiting for a window to end: it issued, or waited inside the
    steps. used: the device's utilisation, empty on a node."""

    name: str
    windows: np.ndarray
    items: float  # of a window
    host: float
    used: Utilisation
    time_kind: str
    notes: list[str] = field(default_factory=list)

    @functools.cached_property
    def rate(self) -> Interval:
        mean = statistics.interval(self.windows)
        each = self.items * 1e6
        return Interval(each / mean.value, each / mean.high, each / mean.low)

    @property
    def drift(self) -> tuple[float, float]:
        """By which share the time of a window moves from the first to the last, and the chance of such a trend."""
        return statistics.drift(self.windows)

    @property
    def bound(self) -> str:
        """What was busy for nine tenths of the time: an engine, "host", or "" where nothing was."""
        shares = {"host": self.host, **self.used.engines}
        most = max(shares, key=lambda name: (name != "host", shares[name]) if shares[name] >= 0.9 else (False, 0.0))
        return most if shares[most] >= 0.9 else ""

    def row(self) -> dict:
        rate = self.rate
        made = {"name": self.name, "rate": rate.value, "rate low": rate.low, "rate high": rate.high, "host": self.host}
        made |= {f"busy {name}": share for name, share in self.used.engines.items()}
        return made | {"bound": self.bound, "std": float(np.std(self.windows)), "time": self.time_kind}

    def __repr__(self) -> str:
        rate = self.rate
        said = messages.text(
            "bench.throughput",
            name=self.name,
            rate=number(rate.value),
            low=number(rate.low),
            high=number(rate.high),
            kind=messages.text(f"bench.{self.time_kind}"),
            busy=", ".join(f"{n} {100 * s:.0f} %" for n, s in self.used.engines.items() if s >= 0.005) or "-",
            host=f"{100 * self.host:.0f}",
        )
        return "\n".join([said, *(f"  {note}" for note in self.notes)])


def number(value: float) -> str:
    """Three digits at least: 12.3, 1,230."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def throughput(
    step: Callable[[], object], *, name: str = "", items: float = 1, seconds: float = SECONDS, streams=None
) -> Throughput:
    """Runs step() for about `seconds` behind a warm-up. items: what a step gets done (a batch's images, say). streams:
    those that a step issues to; default: the current one. Raises ValueError, RuntimeError where no npu is there."""
    runner = Runner(step, streams)
    return runner.run(runner.prepare(seconds), name or getattr(step, "__name__", ""), items)


class Runner:
    """Warms a step up and runs it in windows; in two parts, so that several processes can begin together."""

    def __init__(self, step: Callable[[], object], streams=None):
        import torch

        from labkit import device

        if device.mode() is None:
            device.install()
        if not hasattr(torch, "npu") or not torch.npu.is_available():
            raise RuntimeError(messages.text("bench.no_npu"))
        self.step, self.npu, self.device = step, torch.npu, device
        self.simulated = device.mode() != "npu"
        self.streams = list(streams) if streams is not None else [torch.npu.current_stream()]
        self.places = sorted({stream.device_index for stream in self.streams})

    def prepare(self, seconds: float) -> int:
        """Runs until windows are equally long; how many steps a window has."""
        if not 0 < seconds < math.inf:
            raise ValueError(messages.text("bench.seconds", seconds=seconds))
        count, took = 1, 0.0
        self._windows(1, 1)  # what comes first is compiled, or loaded
        while took < 1e6 * seconds / WINDOWS and count < 1 << 24:
            (took,), _ = self._windows(count, 1)
            if took < 1e6 * seconds / WINDOWS:
                count = max(2 * count, math.ceil(0.9 * count * 1e6 * seconds / WINDOWS / max(took, 1e-3)))
                count = min(count, 1 << 24)
        taken: list[float] = []
        while sum(taken) < 1e6 * seconds * _FAR_AHEAD:
            taken += self._windows(count, WINDOWS)[0]
            if len(taken) - statistics.steady_from(taken) >= WINDOWS // 2:
                break
        return count

    def run(self, count: int, name: str, items: float, lead: int = _LEAD) -> Throughput:
        """lead: windows at the begin that do not count, until the queues have filled."""
        self._wait_for_all()
        begin, launches = self._host(), self.device.clock().launches
        windows, waited = self._windows(count, lead + WINDOWS)
        end = self._host()
        waited *= 1 - lead / (lead + WINDOWS)
        begin, windows = begin + sum(windows[:lead]), windows[lead:]
        made = Throughput(
            name,
            np.array(windows),
            items * count,
            1 - waited / (end - begin),
            self._used(begin, end, launches),
            "modelled" if self.simulated else "measured",
        )
        made.notes = drift_notes(made.windows)
        return made

    def _windows(self, count: int, windows: int) -> tuple[list[float], float]:
        """(microseconds of each window of `count` steps, of these waiting for the ends of windows)."""
        self._wait_for_all()
        mark = functools.partial(self.npu.Event, enable_timing=True)
        begins = {stream.device_index: stream.record_event(mark()) for stream in self.streams}
        waited, ends, open_ends = 0.0, [], []

        def wait() -> None:
            nonlocal waited
            before = self._host()
            for event in open_ends.pop(0):
                event.synchronize()
            waited += self._host() - before

        for _ in range(windows):
            for _ in range(count):
                self.step()
            ends.append([stream.record_event(mark()) for stream in self.streams])
            open_ends.append(ends[-1])
            if len(open_ends) >= _AHEAD:
                wait()
        while open_ends:
            wait()
        # a window is done when its last stream is; an event's time counts from the begin on its own device
        at = [
            1e3 * max(begins[s.device_index].elapsed_time(event) for s, event in zip(self.streams, row)) for row in ends
        ]
        return [b - a for a, b in zip([0.0, *at], at)], waited

    def _wait_for_all(self) -> None:
        for place in self.places:
            self.npu.synchronize(place)

    def _host(self) -> float:
        return self.device.clock().host_us if self.simulated else time.perf_counter() * 1e6

    def _used(self, begin: float, end: float, launches: int) -> Utilisation:
        if not self.simulated:
            return Utilisation()
        from labkit import chips

        spans, made = self.device.timeline_since(launches), self.device.clock().launches
        whole = made - launches <= len(spans)  # the list keeps the newest ones
        if not whole:
            begin = min((s.start_us for s in spans), default=begin)
        hbm = chips.flat(self.device.chip())["operators.hbm"]
        return utilisation((s for s in spans if s.device in self.places), begin, end, hbm, len(self.places))
