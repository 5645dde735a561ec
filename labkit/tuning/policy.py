"""A policy that learns from other problems which candidates are fast: REINFORCE, in torch alone.

Each candidate of a problem has features: of the graph (sizes, tensors, steps, reductions, the chip's cores) and of the
cut. A small network gives it a score; the policy draws a candidate by the softmax of the scores of all. Learning draws
candidates of known problems and makes those more likely that were faster than the draws' average. What it draws costs
launches: `spent` counts them, each candidate once. Of a table it uses nothing but the times of what it drew.

All is computed in double and drawn with Python's generator, so that a seed gives the same candidates on every host.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from labkit import messages
from labkit.tuning.problem import Point, Problem, is_ordered
from labkit.tuning.table import Table

WORST = math.log(8.0)  # of a reward: slower than eight times the best draw counts as that


@dataclass
class Lesson:
    """A problem to learn from: its table, and the features of each candidate, in the order of `keys`. What cannot be
    launched counts as WORST."""

    table: Table
    features: list[list[float]] = field(repr=False)
    keys: list[tuple] = field(repr=False)

    def us(self, i: int) -> float:
        return self.table.times.get(self.keys[i], math.inf)


def lesson(table: Table) -> Lesson:
    """Of a table whose problem gives features (labkit.tuning.generated); of another by the places of the values among
    those of their parameter, which serve this problem alone."""
    keys, problem = [*table.times, *table.failed], table.problem
    features = problem.features or (lambda point: places(problem, point))
    return Lesson(table, [features(problem.point(k)) for k in keys], keys)


def places(problem: Problem, point: Point) -> list[float]:
    """Of a number where it stands between the least (0) and the most (1); of anything else which value it is."""
    made: list[float] = []
    for name, values in problem.parameters.items():
        i = values.index(point[name])
        made += [i / max(1, len(values) - 1)] if is_ordered(values) else [float(i == j) for j in range(len(values))]
    return made


class Policy:
    """hidden: width of the network's one hidden layer. spent: launches that learning took."""

    def __init__(self, seed: int = 0, hidden: int = 32):
        self.seed, self.hidden = seed, hidden
        self.net: torch.nn.Module | None = None
        self.seen: dict[tuple[int, int], float] = {}  # (lesson, candidate), in the order in which they were drawn -> us

    @property
    def spent(self) -> int:
        return len(self.seen)

    def learn(self, lessons: Sequence[Lesson], rounds: int = 200, draws: int = 8, rate: float = 0.02) -> list[float]:
        """rounds: each goes through all lessons once, with so many draws of each. Gives the mean of
        log(time / least time) after each round."""
        if self.net is None:
            self._begin(lessons)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        told, inputs = [], [self._input(one.features) for one in lessons]
        for _ in range(rounds):
            loss, gaps = torch.zeros((), dtype=torch.float64), []
            for number, (one, x) in enumerate(zip(lessons, inputs)):
                logs = torch.log_softmax(self.net(x).squeeze(-1), 0)
                drawn = self.random.choices(range(len(one.keys)), logs.exp().tolist(), k=draws)
                self.seen |= {(number, i): one.us(i) for i in drawn}
                best = min(us for (n, _), us in self.seen.items() if n == number)
                gap = [min(WORST, math.log(one.us(i) / best)) if math.isfinite(best) else WORST for i in drawn]
                mean = sum(gap) / draws  # the baseline
                loss = loss + sum(logs[i] * (g - mean) for i, g in zip(drawn, gap)) / draws
                gaps.append(sum(min(WORST, math.log(one.table.ratio(one.us(i)))) for i in drawn) / draws)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            told.append(sum(gaps) / len(gaps))
        return told

    def search(self, one: Lesson, budget: int, rounds: int = 500, draws: int = 4) -> list[float]:
        """Learns on this problem alone until it has spent the budget, or its draws are known ones. Gives the times in
        the order in which they were first drawn."""
        for _ in range(rounds):
            if self.spent >= budget:
                break
            self.learn([one], 1, draws)
        return list(self.seen.values())[:budget]

    def order(self, one: Lesson) -> list[tuple]:
        """The candidates of a problem that it has not seen, the most likely first. Nothing is launched."""
        if self.net is None:
            raise ValueError(messages.text("tuning.untrained"))
        with torch.no_grad():
            scores = self.net(self._input(one.features)).squeeze(-1).tolist()
        return [one.keys[i] for i in sorted(range(len(scores)), key=lambda i: -scores[i])]

    def best(self, one: Lesson, count: int) -> float:
        """The least time among the first `count` of its order."""
        return min(one.table.times.get(k, math.inf) for k in self.order(one)[:count])

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
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.random = random.Random(f"learn/{self.seed}")

    def _input(self, features: list[list[float]]) -> torch.Tensor:
        x = torch.tensor(features, dtype=torch.float64)
        if x.shape[1] != len(self.mean):
            raise ValueError(messages.text("tuning.features", name="-", got=x.shape[1], want=len(self.mean)))
        return (x - self.mean) / self.spread
