"""Which implementation of an operator for a chip and a shape: the chain of launches, one generated kernel, one by hand.

What was timed is kept in a file and decides by itself. For sizes that nobody timed the predictor decides; an
implementation without a predictor is then judged by the nearest sizes that were timed, by the bytes of its tensors.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labkit import chips, messages, paths
from labkit.fusion.fused import FusedKernel, lately
from labkit.tuning import clock as clocks
from labkit.tuning.search import tune

MOST_KEPT = 1000  # sizes in a file; the oldest go first


@dataclass
class Way:
    """time(tensors, chip): us by the clock; predict(tensors, chip): us without a launch, None: it has no predictor."""

    time: Callable[[Sequence, str], float]
    predict: Callable[[Sequence, str], float] | None = None


@dataclass(frozen=True)
class Picked:
    """name: the implementation; us: its time; how: "timed", or "predicted" where nobody has timed these sizes;
    times: of all that could be compared; kind: "modelled" or "measured"."""

    name: str
    us: float
    how: str
    chip: str
    kind: str
    times: dict = field(default_factory=dict)

    @property
    def reason(self) -> str:
        rest = sorted((us, n) for n, us in self.times.items() if n != self.name)
        others = ", ".join(f"{n} {us:.2f} us" for us, n in rest) or "-"
        return messages.text(
            f"tuning.picked_{self.how}", name=self.name, us=f"{self.us:.2f}", others=others, chip=self.chip,
            kind=messages.text(f"bench.{self.kind}"),
        )  # fmt: skip

    def __str__(self) -> str:
        return self.reason


class Choice:
    """Of an operator's implementations.

        choice = labkit.tuning.Choice("swiglu", lambda g, u: F.silu(g) * u, by_hand={"swiglu.asc": launch})
        choice.time(gate, up, chip="910B3")      # all of them by the clock, kept
        choice.pick(gate, up, chip="910B3").reason

    function: as labkit.fusion.kernel takes it; it becomes "chain", a launch for each operator, and "fused", one kernel.
    by_hand: name -> launch(tensors, chip), which gives us of a kernel that somebody wrote. budget: launches for tuning
    the fused one when it is timed; 0: as the planner cuts it. file: where times are kept; None: in the lab's cache."""

    def __init__(
        self,
        name: str,
        function: Callable,
        *,
        by_hand: dict[str, Callable[[Sequence, str], float]] | None = None,
        budget: int = 0,
        file: str | Path | None = None,
    ):
        self.name, self.function, self.budget = name, function, budget
        self.file = Path(file) if file else paths.cache_dir() / "choices.json"
        self._kernels: dict[tuple, FusedKernel] = {}
        self.ways = {"chain": Way(self._chain, self._chain_predicted), "fused": Way(self._fused, self._fused_predicted)}
        for own, launch in (by_hand or {}).items():
            if own in self.ways:
                raise ValueError(messages.text("tuning.way_name", name=own))
            self.ways[own] = launch if isinstance(launch, Way) else Way(launch)

    # ---- the generated ones

    def _kernel(self, tensors: Sequence, chip: str) -> FusedKernel:
        key = (chip, *_sizes(tensors))

        def make() -> FusedKernel:
            return FusedKernel(self.function, list(tensors), self.name, "once", chip, False)

        return lately(self._kernels, key, make)

    def _fused(self, tensors: Sequence, chip: str) -> float:
        kernel = self._kernel(tensors, chip)
        if self.budget:
            return tune(kernel, budget=self.budget).us
        if clocks.kind() == "measured":
            given = [t.npu() for t in tensors]
            return clocks.measured(lambda: kernel.launch(given))
        return kernel.modelled().time_us

    def _fused_predicted(self, tensors: Sequence, chip: str) -> float:
        return self._kernel(tensors, chip).predict().us

    def _chain(self, tensors: Sequence, chip: str) -> float:
        return self._kernel(tensors, chip).chain().modelled_us()

    def _chain_predicted(self, tensors: Sequence, chip: str) -> float:
        return self._kernel(tensors, chip).chain().predicted_us

    # ---- choosing

    def pick(self, *tensors, chip: str | None = None) -> Picked:
        """The fastest for these sizes; nothing is launched. Raises ValueError for a chip without a table."""
        chips.load(chip := chip or chips.chosen())
        kept = self._kept()
        found = kept.get(self._key(tensors, chip))
        if found is not None and set(found["times"]) == set(self.ways):
            return self._best(found["times"], "timed", chip)
        times = {}
        for name, way in self.ways.items():
            us = way.predict(tensors, chip) if way.predict else self._from_neighbour(name, tensors, chip, kept)
            if us is not None:
                times[name] = us
        return self._best(times, "predicted", chip)

    def time(self, *tensors, chip: str | None = None) -> Picked:
        """All implementations by the clock; what they take is kept."""
        chips.load(chip := chip or chips.chosen())
        times = {name: way.time(tensors, chip) for name, way in self.ways.items()}
        kept = self._kept()
        kept.pop(key := self._key(tensors, chip), None)
        kept[key] = {"times": times, "bytes": _bytes(tensors), "of": [self.name, *self._stamp(chip)]}
        self._write(dict(list(kept.items())[-MOST_KEPT:]))
        return self._best(times, "timed", chip)

    def _best(self, times: dict, how: str, chip: str) -> Picked:
        name = min(times, key=times.get)
        return Picked(name, times[name], how, chip, clocks.kind(), times)

    def _from_neighbour(self, name: str, tensors: Sequence, chip: str, kept: dict) -> float | None:
        """Its time at the nearest sizes that were timed, by the bytes: of a smaller tensor no less than half of it."""
        own = [e for e in kept.values() if e["of"] == [self.name, *self._stamp(chip)] and name in e["times"]]
        if not own:
            return None
        size = _bytes(tensors)
        near = min(own, key=lambda e: abs(math.log(e["bytes"] / size)))
        return near["times"][name] * max(size / near["bytes"], 0.5)

    # ---- kept

    def _stamp(self, chip: str) -> list:
        return [chip, clocks.about(chip)["table"], clocks.kind()]

    def _key(self, tensors: Sequence, chip: str) -> str:
        return json.dumps([self.name, *self._stamp(chip), *_sizes(tensors)])

    def _kept(self) -> dict:
        try:
            return json.loads(self.file.read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):  # a broken file costs time, never an answer
            return {}

    def _write(self, kept: dict) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        partial = self.file.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(kept), encoding="utf-8")
        partial.replace(self.file)


def _sizes(tensors: Sequence) -> tuple:
    return tuple(f"{str(t.dtype)[6:]}{list(t.shape)}{list(t.stride())}" for t in tensors)


def _bytes(tensors: Sequence) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)
