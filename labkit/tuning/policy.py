"""A policy that learns from other problems which candidates are fast: REINFORCE, in torch alone.

Each candidate of a problem has features: of the graph (sizes, tensors, steps, reductions, the chip's cores) and of the
cut. A small network gives it a score; the policy draws a candidate by the softmax of the scores of all. Learning draws
candidates of known problems and makes those more likely that were faster than the draws' average. What it draws costs
launches: `spent` counts them, each candidate once.

All is computed in double and drawn with Python's generator, so that a seed gives the same candidates on every host.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from labkit import messages
from labkit.tuning.table import Table

WORST = math.log(8.0)  # of a reward: slower than eight times the best draw counts as that


@dataclass
class Lesson:
    """A problem to learn from: its table, and the features of each candidate, in the order of `keys`."""

    table: Table
    features: list[list[float]] = field(repr=False)
    keys: list[tuple] = field(repr=False)


def lesson(table: Table) -> Lesson:
    """Of a table whose problem gives features (labkit.tuning.generated)."""
    keys = list(table.times)
    return Lesson(table, [table.problem.features(table.problem.point(k)) for k in keys], keys)


class Policy:
    """hidden: width of the network's one hidden layer. spent: launches that learning took."""

    def __init__(self, seed: int = 0, hidden: int = 32):
        self.seed, self.hidden = seed, hidden
        self.net: torch.nn.Module | None = None
        self.seen: set[tuple] = set()

    @property
    def spent(self) -> int:
        return len(self.seen)

    def learn(self, lessons: Sequence[Lesson], rounds: int = 200, draws: int = 8, rate: float = 0.02) -> list[float]:
        """rounds: each goes through all lessons once, with so many draws of each. Gives the mean of
        log(time / least time) after each round."""
        if self.net is None:
            self._begin(lessons)
        optimizer = torch.optim.Adam(self.net.parameters(), lr=rate)
        r, told = random.Random(f"learn/{self.seed}"), []
        inputs = [self._input(one.features) for one in lessons]
        for _ in range(rounds):
            loss, gaps = torch.zeros((), dtype=torch.float64), []
            for number, (one, x) in enumerate(zip(lessons, inputs)):
                logs = torch.log_softmax(self.net(x).squeeze(-1), 0)
                drawn = r.choices(range(len(one.keys)), logs.exp().tolist(), k=draws)
                self.seen |= {(number, i) for i in drawn}
                gap = [min(WORST, math.log(one.table.ratio(one.table.times[one.keys[i]]))) for i in drawn]
                mean = sum(gap) / draws  # the baseline
                loss = loss + sum(logs[i] * (g - mean) for i, g in zip(drawn, gap)) / draws
                gaps.append(mean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            told.append(sum(gaps) / len(gaps))
        return told

    def order(self, one: Lesson) -> list[tuple]:
        """The candidates of a problem that it has not seen, the most likely first. Nothing is launched."""
        if self.net is None:
            raise ValueError(messages.text("tuning.untrained"))
        with torch.no_grad():
            scores = self.net(self._input(one.features)).squeeze(-1).tolist()
        return [one.keys[i] for i in sorted(range(len(scores)), key=lambda i: -scores[i])]

    def best(self, one: Lesson, count: int) -> float:
        """The least time among the first `count` of its order."""
        return min(one.table.times[k] for k in self.order(one)[:count])

    def _begin(self, lessons: Sequence[Lesson]) -> None:
        rows = torch.tensor([f for one in lessons for f in one.features], dtype=torch.float64)
        self.mean, self.spread = rows.mean(0), rows.std(0).clamp_min(1e-6)
        r = random.Random(f"net/{self.seed}")
        sizes = (rows.shape[1], self.hidden, 1)
        layers = [torch.nn.Linear(a, b, dtype=torch.float64) for a, b in zip(sizes, sizes[1:])]
        with torch.no_grad():
            for layer in layers:
                values = [r.gauss(0, 1 / math.sqrt(layer.in_features)) for _ in range(layer.weight.numel())]
                layer.weight.copy_(torch.tensor(values, dtype=torch.float64).view_as(layer.weight))
                layer.bias.zero_()
        self.net = torch.nn.Sequential(layers[0], torch.nn.Tanh(), layers[1])

    def _input(self, features: list[list[float]]) -> torch.Tensor:
        x = torch.tensor(features, dtype=torch.float64)
        if x.shape[1] != len(self.mean):
            raise ValueError(messages.text("tuning.features", name="-", got=x.shape[1], want=len(self.mean)))
        return (x - self.mean) / self.spread
