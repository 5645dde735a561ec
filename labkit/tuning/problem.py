"""What is tuned: parameters with their values, which of their combinations are possible, and what one of them takes."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from labkit import messages

Point = dict  # parameter -> value
MOST_LISTED = 20_000  # candidates of a space that are looked at one by one; of a larger one as many are drawn


class Invalid(Exception):
    """A candidate that cannot be built or launched; the text says why."""


def _always(point: Point) -> str | None:
    return None


@dataclass(eq=False)
class Problem:
    """parameters: each with its values in order. run: us of a candidate, by the clock; raises Invalid. refuse: why a
    candidate is impossible, or None; cheap, nothing is built. predict: us as a model of the kernel has it, cheap; None:
    there is no such model. start: what would be taken without tuning. time_kind: "modelled" or "measured".
    about: what else the times depend on (chip, source, shapes), so that a study of something else is not gone on with.
    apply: gives what a candidate is: the kernel, cut that way. listed: the possible candidates, where they are
    known. features: numbers that say what a candidate of what graph it is, for a policy that learns."""

    name: str
    parameters: dict[str, tuple]
    run: Callable[[Point], float]
    refuse: Callable[[Point], str | None] = _always
    predict: Callable[[Point], float] | None = None
    start: Point | None = None
    time_kind: str = "modelled"
    about: dict = field(default_factory=dict)
    apply: Callable[[Point], object] | None = None
    listed: list[Point] | None = None
    features: Callable[[Point], list[float]] | None = None

    def __post_init__(self):
        self.parameters = {name: tuple(values) for name, values in self.parameters.items()}  # the caller keeps theirs
        for name, values in self.parameters.items():
            if not values or len(set(values)) != len(values):
                raise ValueError(messages.text("tuning.values", name=name, values=values))
        if self.start is not None:
            self.check(self.start)

    def check(self, point: Point) -> None:
        """Raises ValueError for a point outside the space."""
        if set(point) != set(self.parameters):
            raise ValueError(
                messages.text(
                    "tuning.names", given=", ".join(sorted(map(str, point))), wanted=", ".join(self.parameters)
                )
            )
        for name, value in point.items():
            if value not in self.parameters[name]:
                raise ValueError(messages.text("tuning.value", name=name, value=value, values=self.parameters[name]))

    def key(self, point: Point) -> tuple:
        return tuple(point[name] for name in self.parameters)

    def point(self, key: tuple) -> Point:
        return dict(zip(self.parameters, key))

    @property
    def size(self) -> int:
        """Combinations, possible or not."""
        return math.prod(len(v) for v in self.parameters.values())

    def points(self) -> Iterator[Point]:
        """All combinations, or MOST_LISTED of them, drawn alike each time."""
        names, values = list(self.parameters), list(self.parameters.values())
        if self.size <= MOST_LISTED:
            yield from (dict(zip(names, row)) for row in itertools.product(*values))
            return
        r, seen = random.Random(0), set()
        while len(seen) < MOST_LISTED:
            row = tuple(r.choice(v) for v in values)
            if row not in seen:
                seen.add(row)
                yield dict(zip(names, row))

    def candidates(self) -> list[Point]:
        """Those that are possible, in the order of the space."""
        if self.listed is None:
            self.listed = [p for p in self.points() if self.refuse(p) is None]
        return list(self.listed)

    def neighbours(self, point: Point) -> list[Point]:
        """Possible candidates that differ in one parameter: of numbers the next ones on both sides, of others any."""
        found = []
        for name, values in self.parameters.items():
            i = values.index(point[name])
            ordered = is_ordered(values)
            for j in (i - 1, i + 1) if ordered else range(len(values)):
                if j != i and 0 <= j < len(values):
                    other = {**point, name: values[j]}
                    if self.refuse(other) is None:
                        found.append(other)
        return found

    @property
    def fingerprint(self) -> str:
        told = [self.name, {k: list(v) for k, v in self.parameters.items()}, self.time_kind, self.about]
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]


def is_ordered(values: tuple) -> bool:
    """Numbers that rise: then neighbours are alike."""
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
    return numbers and list(values) == sorted(values)
