"""A sweep over batch sizes, and the size to take: the smallest one that is surely near the best rate.

The rule. The rate of a size is its items over the median time. The best rate is that of the size where it is highest.
The sweet spot is the smallest size of which it is sure (both 95-percent intervals, at their worst ends) that its rate
is at least `share` of the best, and whose 99th percentile keeps the limit, if there is one. Where the best size is the
largest tried and the rate still rose by more than 1 - share at the last step, there is no sweet spot: the curve has
not bent yet, and the answer would be the end of the list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from labkit import messages
from labkit.bench.duration import number
from labkit.bench.statistics import Interval
from labkit.bench.timing import Measurement, measure

SHARE = 0.9
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


@dataclass
class Sweep:
    """sizes, the measurement of each, what a step of each gets done. spot: the size to take, or None."""

    name: str
    sizes: list[int]
    measured: list[Measurement]
    items: list[float]
    share: float = SHARE
    limit_us: float | None = None
    notes: list[str] = field(default_factory=list)

    def rate(self, i: int) -> Interval:
        """Items per second of the i-th size."""
        median, each = self.measured[i].median, self.items[i] * 1e6
        return Interval(each / median.value, each / median.high, each / median.low)

    @property
    def rates(self) -> list[Interval]:
        return [self.rate(i) for i in range(len(self.sizes))]

    @property
    def rising(self) -> bool:
        """Whether the rate still rises at the largest size, so that the best one is not known."""
        rates = [r.value for r in self.rates]
        return len(rates) > 1 and max(rates) == rates[-1] and rates[-2] < self.share * rates[-1]

    @property
    def spot(self) -> int | None:
        if self.rising:
            return None
        rates = self.rates
        best = max(rates, key=lambda r: r.value)
        for size, rate, m in zip(self.sizes, rates, self.measured):
            fast = rate is best or rate.low >= self.share * best.high
            if fast and (self.limit_us is None or m.percentile(99).high <= self.limit_us):
                return size
        return None

    def rows(self) -> list[dict]:
        return [
            {"size": s, "rate": r.value, "rate low": r.low, "rate high": r.high, **m.row()}
            for s, r, m in zip(self.sizes, self.rates, self.measured)
        ]

    def table(self):
        """A pandas frame, a row each size; microseconds and items per second."""
        import pandas

        return pandas.DataFrame(self.rows())

    def __repr__(self) -> str:
        spot = self.spot
        if spot is not None:
            at = self.sizes.index(spot)
            said = messages.text(
                "bench.sweep.spot",
                name=self.name,
                size=spot,
                rate=number(self.rate(at).value),
                part=f"{100 * self.rate(at).value / max(r.value for r in self.rates):.0f}",
                p99=number(self.measured[at].percentile(99).value),
                kind=messages.text(f"bench.{self.measured[at].time_kind}"),
            )
        else:
            why = "rising" if self.rising else "limit"
            said = messages.text(f"bench.sweep.{why}", name=self.name, size=self.sizes[-1], limit=self.limit_us)
        return "\n".join([said, *(f"  {note}" for note in self.notes)])


def sweep(
    make: Callable[[int], Callable[[], object]],
    sizes: Sequence[int] = SIZES,
    *,
    name: str = "",
    items: Callable[[int], float] = float,
    share: float = SHARE,
    limit_us: float | None = None,
    cache: str = "warm",
    **how,
) -> Sweep:
    """make(size) gives the function to time. items(size): what a call of it gets done. share, limit_us: see the rule
    above. how: for measure(). A size that does not fit into memory ends the sweep, with a note.
    Raises ValueError for sizes that do not rise and for a size without a rate, and what measure() raises."""
    import torch

    sizes = list(sizes)
    if not sizes or sizes != sorted(set(sizes)) or not 0 < share < 1:
        raise ValueError(messages.text("bench.sizes"))
    made = Sweep(name or getattr(make, "__name__", ""), [], [], [], share, limit_us)
    for size in sizes:
        try:
            taken = measure(make(size), name=f"{made.name}[{size}]", cache=cache, **how)
        except torch.OutOfMemoryError:
            if not made.sizes:
                raise
            made.notes.append(messages.text("bench.sweep.memory", size=size))
            break
        done = float(items(size))
        if not (done > 0 and taken.median.low > 0):  # nothing was launched, so modelled time stood still
            raise ValueError(
                messages.text("bench.sweep.nothing", name=made.name, size=size, items=done, us=taken.median.low)
            )
        made.sizes.append(size)
        made.measured.append(taken)
        made.items.append(done)
    return made
