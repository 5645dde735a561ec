"""Traffic: requests that arrive whether or not the server keeps up (an open loop), the same for a seed everywhere.

Arrivals are drawn at one a second and stretched to the wanted rate: another rate moves the same requests closer
together, so that two loads are compared on the same traffic. Times are rounded to nanoseconds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from labkit import messages
from labkit.serving.settings import Request

FEATURE_ROWS = 64  # of a prompt; labkit.serving.model makes them


@dataclass(frozen=True)
class Workload:
    """What requests are like. Each pair of lengths is drawn with its share; a length lies evenly within its bounds."""

    name: str
    prompts: tuple[tuple[float, int, int], ...] = ((0.8, 8, 48), (0.2, 64, 192))
    answers: tuple[tuple[float, int, int], ...] = ((0.85, 2, 8), (0.15, 10, 32))
    with_features: float = 1.0  # the share of requests that come with features
    different: int = 200  # how many features there are; the n-th most popular is asked for 1/n times as often

    def mean_answer(self) -> float:
        return sum(share * (low + high) / 2 for share, low, high in self.answers)


CHAT = Workload("short questions about a picture")
LONG_PROMPTS = Workload("one prompt in fifty is long", prompts=((0.78, 8, 48), (0.2, 64, 192), (0.02, 1200, 1800)))
PLAIN = Workload("one length", ((1.0, 32, 32),), ((1.0, 16, 16),), 0.0)
WORKLOADS = {w.name: w for w in (CHAT, LONG_PROMPTS, PLAIN)}


def _drawn(rng: random.Random, lengths) -> int:
    u = rng.random()
    for share, low, high in lengths:
        if u < share:
            break
        u -= share
    return rng.randint(low, high)


def _requests(arrivals: Iterator[float], count: int, workload: Workload, seed: int) -> list[Request]:
    rng = random.Random(f"{seed} {workload.name}")
    weights = [1 / n for n in range(1, workload.different + 1)]
    features = rng.choices(range(workload.different), weights, k=count) if weights else [None] * count
    made = []
    for i, at in zip(range(count), arrivals):
        comes = rng.random() < workload.with_features and features[i] is not None
        prompt = _drawn(rng, workload.prompts) + (FEATURE_ROWS if comes else 0)
        made.append(
            Request(i, round(at * 1e6, 3), prompt, _drawn(rng, workload.answers), features[i] if comes else None)
        )
    return made


def _check(rate: float) -> None:
    if not 0 < rate < math.inf:
        raise ValueError(messages.text("serving.rate", rate=rate))


def poisson(rate: float, count: int, workload: Workload = CHAT, seed: int = 0) -> list[Request]:
    """`count` requests at `rate` a second, each independent of the others. Raises ValueError for no such rate."""
    _check(rate)

    def arrivals() -> Iterator[float]:
        rng, now = random.Random(f"{seed} arrivals"), 0.0
        while True:
            now -= math.log(1 - rng.random()) / rate
            yield now

    return _requests(arrivals(), count, workload, seed)


def bursty(
    rate: float,
    count: int,
    workload: Workload = CHAT,
    seed: int = 0,
    times: float = 4.0,
    busy: float = 0.2,
    mean: int = 40,
) -> list[Request]:
    """The same mean rate, in quiet and busy spells: a share `busy` of the time, `times` as many requests arrive as in
    the mean; a busy spell has about `mean` requests. Raises ValueError for what is no such load.
    """
    _check(rate)
    if not 0 < busy < 1 or not 1 < times < 1 / busy + 1e-9 or mean <= 0:
        raise ValueError(messages.text("serving.spells"))
    quiet_rate = rate * (1 - times * busy) / (1 - busy)
    busy_length = mean / (times * rate)
    quiet_length = busy_length * (1 - busy) / busy

    def arrivals() -> Iterator[float]:
        rng, now, in_burst, until = random.Random(f"{seed} bursts"), 0.0, False, 0.0
        while True:
            if now >= until:
                in_burst = not in_burst
                until = now - math.log(1 - rng.random()) * (busy_length if in_burst else quiet_length)
            speed = times * rate if in_burst else quiet_rate
            step = -math.log(1 - rng.random()) / speed if speed > 0 else math.inf
            if now + step > until:  # the spell ends first; a Poisson stream forgets
                now = until
                continue
            now += step
            yield now

    return _requests(arrivals(), count, workload, seed)
