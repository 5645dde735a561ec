"""All candidates of a problem, timed once: what searches are judged by, without launching anything again."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from labkit.tuning.problem import Invalid, Point, Problem


@dataclass(eq=False)
class Table:
    """times: us by key, of those that could be launched. evaluations: how many candidates an exhaustive search tries,
    those included that fail only when they are tried."""

    problem: Problem
    times: dict[tuple, float] = field(repr=False)
    predicted: dict[tuple, float] = field(repr=False)
    failed: dict[tuple, str] = field(repr=False)

    @classmethod
    def of(cls, problem: Problem, told: Callable[[int, int], None] | None = None) -> "Table":
        """Times every candidate. told: is called with how many are done, of how many."""
        times, predicted, failed = {}, {}, {}
        points = problem.candidates()
        for i, point in enumerate(points):
            key = problem.key(point)
            if problem.predict is not None:
                predicted[key] = problem.predict(point)
            try:
                times[key] = problem.run(point)
            except Invalid as e:
                failed[key] = str(e)
            if told is not None:
                told(i + 1, len(points))
        return cls(problem, times, predicted, failed)

    @property
    def evaluations(self) -> int:
        return len(self.times) + len(self.failed)

    @property
    def least(self) -> float:
        return min(self.times.values())

    @property
    def best(self) -> Point:
        return self.problem.point(min(self.times, key=self.times.get))

    def ratio(self, us: float) -> float:
        """Of a time to the least one; infinite for none."""
        return us / self.least if math.isfinite(us) else math.inf

    def replay(self) -> Problem:
        """The problem with the table instead of launches."""
        problem = self.problem

        def run(point: Point) -> float:
            key = problem.key(point)
            if key in self.failed:
                raise Invalid(self.failed[key])
            return self.times[key]

        there = self.times.keys() | self.failed.keys()
        return replace(
            problem,
            run=run,
            refuse=lambda p: None if problem.key(p) in there else "-",
            predict=(lambda p: self.predicted[problem.key(p)]) if self.predicted else None,
            listed=[problem.point(k) for k in [*self.times, *self.failed]],
            apply=None,
        )

    # ---- kept

    def save(self, path: str | Path) -> Path:
        problem = self.problem
        told = {
            "name": problem.name,
            "parameters": {k: list(v) for k, v in problem.parameters.items()},
            "start": problem.start,
            "time_kind": problem.time_kind,
            "about": problem.about,
            "times": [[*k, us] for k, us in self.times.items()],
            "predicted": [[*k, us] for k, us in self.predicted.items()],
            "failed": [[*k, why] for k, why in self.failed.items()],
        }
        Path(path).write_text(json.dumps(told), encoding="utf-8")
        return Path(path)

    @classmethod
    def load(cls, path: str | Path) -> "Table":
        """Of a file. Its problem can be searched by `replay`, not launched."""
        told = json.loads(Path(path).read_text(encoding="utf-8"))

        def columns(name: str) -> dict:
            return {tuple(row[:-1]): row[-1] for row in told[name]}

        def run(point: Point) -> float:
            raise Invalid(f"{told['name']} was read from {path}: nothing to launch")

        problem = Problem(
            told["name"],
            {k: tuple(v) for k, v in told["parameters"].items()},
            run,
            start=told["start"],
            time_kind=told["time_kind"],
            about=told["about"],
        )
        return cls(problem, columns("times"), columns("predicted"), columns("failed"))
