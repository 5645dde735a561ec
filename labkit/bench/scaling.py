"""More workers on the same kind of work: streams, processes or devices, and what is lost on the way.

    bench.streams(make, (1, 2, 4))                     one host thread, several streams of one device
    bench.devices(make, (1, 2, 4))                     one host thread, several devices
    bench.processes(make, (1, 2, 4))                   a process for each device
    bench.processes(make, (1, 2, 4), one_card=True)    several processes on one device

make(i) is called once for worker i, where it works, and gives its step. On the simulated device this is modelled: one
process has one host, which issues one operator after the other (6 us each); an engine of a device (vector, cube, copies
in and out) does one kernel at a time, for all streams and all processes; streams share the L2, processes on one card do
not take it from each other; each device has its own PCIe link at its full rate; each process has a host of its own. So
what is not modelled: two engines that both want all of HBM, a PCIe switch or host memory shared by devices, host cores
that are short, and what changing between processes costs a card.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from labkit import messages
from labkit.bench import laws
from labkit.bench.duration import SECONDS, WINDOWS, Runner, Throughput, number
from labkit.bench.statistics import Interval
from labkit.bench.utilisation import Utilisation, together
from labkit.bench.workers import Workers

COUNTS = (1, 2, 4, 8)


@dataclass
class Point:
    """One number of workers. busy: shares by engine; host: of the hosts' time, as in Throughput."""

    count: int
    rate: Interval
    host: float
    used: Utilisation
    bound: str


@dataclass
class Scaling:
    """The curve. by: "streams", "devices", "processes" or "one_card"."""

    name: str
    by: str
    points: list[Point]
    time_kind: str
    notes: list[str] = field(default_factory=list)

    @property
    def counts(self) -> list[int]:
        return [p.count for p in self.points]

    @property
    def rates(self) -> list[float]:
        return [p.rate.value for p in self.points]

    def lost(self, i: int) -> float:
        """The share of `count` times the rate of the first point's workers that is not there."""
        first, here = self.points[0], self.points[i]
        return 1 - here.rate.value / first.rate.value * first.count / here.count

    def fit(self, coherence: bool = True) -> laws.Fit:
        return laws.fit(self.counts, self.rates, coherence)

    def rows(self) -> list[dict]:
        one = self.points[0].rate.value
        return [
            {
                self.by: p.count,
                "rate": p.rate.value,
                "rate low": p.rate.low,
                "rate high": p.rate.high,
                "speedup": p.rate.value / one,
                "lost": self.lost(i),
                "host": p.host,
                **{f"busy {name}": share for name, share in p.used.engines.items()},
                "memory": p.used.memory,
                "bound": p.bound,
                "time": self.time_kind,
            }
            for i, p in enumerate(self.points)
        ]

    def table(self):
        """A pandas frame, a row each number of workers."""
        import pandas

        return pandas.DataFrame(self.rows())

    def __repr__(self) -> str:
        rows = [
            messages.text(
                "bench.scaling.row",
                count=p.count,
                by=messages.text(f"bench.by.{self.by}"),
                rate=number(p.rate.value),
                speedup=f"{p.rate.value / self.points[0].rate.value:.2f}",
                lost=round(100 * self.lost(i)),
                bound=messages.text(f"bench.bound.{p.bound.replace(' ', '_')}" if p.bound else "bench.bound.nothing"),
            )
            for i, p in enumerate(self.points)
        ]
        kind = messages.text(f"bench.{self.time_kind}")
        return "\n".join([f"{self.name} ({kind})", *rows, *(f"  {note}" for note in self.notes)])


def _point(count: int, t: Throughput) -> Point:
    return Point(count, t.rate, t.host, t.used, t.bound)


def _checked(counts: Sequence[int]) -> list[int]:
    counts = list(counts)
    if not counts or counts != sorted(set(counts)) or counts[0] < 1:
        raise ValueError(messages.text("bench.counts"))
    return counts


def streams(make: Callable, counts: Sequence[int] = COUNTS, *, name="", items=1.0, seconds=SECONDS) -> Scaling:
    """Each worker issues to a stream of its own; one thread issues for all, a step of each in turn."""
    import torch

    points, notes, kind = [], [], ""
    for count in _checked(counts):
        t = _in_turn([torch.npu.Stream() for _ in range(count)], make, name, items, seconds)
        points.append(_point(count, t))
        notes, kind = notes + [n for n in t.notes if n not in notes], t.time_kind
    return Scaling(name or getattr(make, "__name__", ""), "streams", points, kind, notes)


def _in_turn(places: list, make: Callable, name: str, items: float, seconds: float) -> Throughput:
    import torch

    steps = []
    for i, stream in enumerate(places):
        with torch.npu.stream(stream):
            steps.append(make(i))
    torch.npu.synchronize()

    def turn() -> None:
        for stream, step in zip(places, steps):
            with torch.npu.stream(stream):
                step()

    runner = Runner(turn, places)
    return runner.run(runner.prepare(seconds), name, items * len(places))


def devices(make: Callable, counts: Sequence[int] = COUNTS, *, name="", items=1.0, seconds=SECONDS) -> Scaling:
    """One process drives all devices. Where this one has too few simulated ones, another process is started that has
    as many as are needed. Raises RuntimeError where a node has too few."""
    import torch

    from labkit import device

    counts = _checked(counts)
    device.install()
    if torch.npu.device_count() >= counts[-1]:
        made = [_on_devices({}, 0, make, count, items, seconds) for count in counts]
    elif device.mode() == "npu":
        raise RuntimeError(messages.text("bench.few_devices", count=torch.npu.device_count(), most=counts[-1]))
    else:
        with Workers(1, npus=counts[-1]) as workers:
            made = [workers.call(1, _on_devices, make, count, items, seconds)[0] for count in counts]
    points, notes = [_point(n, t) for n, t in zip(counts, made)], sorted({note for t in made for note in t.notes})
    return Scaling(name or getattr(make, "__name__", ""), "devices", points, made[0].time_kind, notes)


def _on_devices(state: dict, number: int, make: Callable, count: int, items: float, seconds: float) -> Throughput:
    import torch

    return _in_turn([torch.npu.current_stream(i) for i in range(count)], make, "", items, seconds)


def processes(
    make: Callable, counts: Sequence[int] = COUNTS, *, one_card=False, name="", items=1.0, seconds=SECONDS
) -> Scaling:
    """Each worker is a process with a device of its own, or with one_card all have the same. They warm up one by one's
    own clock, then begin together. The rates add up; the work should be the same in each, since a process that is
    done early leaves the card to the others."""
    import torch

    from labkit import device

    counts = _checked(counts)
    device.install()
    real = device.mode() == "npu"
    if real and not one_card and torch.npu.device_count() < counts[-1]:
        raise RuntimeError(messages.text("bench.few_devices", count=torch.npu.device_count(), most=counts[-1]))
    points, kind, notes = [], "", []
    with Workers(counts[-1]) as workers:
        for count in counts:
            workers.call(count, _warm, make, seconds, one_card)
            card = _card(count) if one_card and not real else None
            try:
                parts = workers.call(count, _run, card, count, items)
            finally:
                if card:
                    os.unlink(card)
            points.append(_sum(parts, one_card))
            kind = parts[0].time_kind
            notes += [note for part in parts for note in part.notes][:1]  # of one of them: the others say the same
    by = "one_card" if one_card else "processes"
    return Scaling(name or getattr(make, "__name__", ""), by, points, kind, notes)


def _card(count: int) -> str:
    from labkit.device import card

    return card.make()


def _warm(state: dict, number: int, make: Callable, seconds: float, one_card: bool) -> None:
    import torch

    from labkit import device

    if device.mode() == "npu":
        torch.npu.set_device(0 if one_card else number)
    if "runner" not in state:
        state["runner"] = Runner(make(number))
        state["steps"] = state["runner"].prepare(seconds)


def _run(state: dict, number: int, card_file: str | None, count: int, items: float) -> Throughput:
    from labkit import device
    from labkit.device import card

    runner, steps = state["runner"], state["steps"]
    if not card_file:
        return runner.run(steps, "", items)
    device.reset_clock()  # all clocks begin at zero
    with card.shared(card_file, number, count):
        # a card that is shared takes longer until every queue has filled
        return runner.run(steps, "", items, lead=WINDOWS // 2)


def _sum(parts: list[Throughput], one_card: bool) -> Point:
    rates = [p.rate for p in parts]
    value = sum(r.value for r in rates)
    # independent errors of the parts
    low, high = (math.sqrt(sum((getattr(r, end) - r.value) ** 2 for r in rates)) for end in ("low", "high"))
    used, host = together([p.used for p in parts], one_card), sum(p.host for p in parts) / len(parts)
    whole = Throughput("", parts[0].windows, parts[0].items, host, used, parts[0].time_kind)
    return Point(len(parts), Interval(value, value - low, value + high), host, used, whole.bound)
