"""Which bytes a launch finds in the L2 where others went before it, for launches that are only predicted.

The L2 gives up what was touched least recently, and a launch passes all of its tensors side by side: their parts at
p = 0 first, those at p = 1 last. So what a launch that loads `a` bytes left at p has been followed, when a launch that
loads `b` comes to it, by a * (1 - p) + those of the launches between + b * p; it is there while that is less than the
L2 has room for. What was written and has to leave goes back to HBM, and is charged to the launch that it has to leave
for.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

from labkit import chips

if TYPE_CHECKING:
    from labkit.codegen.clock import Prediction
    from labkit.fusion.fused import FusedKernel

ROUNDS = 4  # how much a launch loads and how much it finds depend on each other


def bytes_of(t) -> int:
    """Of a tensor's memory; what is repeated is there once."""
    return math.prod(n for n, step in zip(t.shape, t.stride()) if step) * t.itemsize


class L2:
    def __init__(self, chip: str):
        table = chips.load(chip)
        self.room = table["memory"]["l2"] * table["gm"]["l2_share"]
        self.loads: list[float] = []  # bytes that each launch brought in or wrote
        self.last: dict[Hashable, int] = {}  # the launch that touched a tensor last
        self.dirty: dict[Hashable, float] = {}  # bytes

    def launch(self, kernel: FusedKernel, reads: dict[str, tuple[Hashable, float]], writes: dict) -> Prediction:
        """The launch that comes next. reads: input of the kernel -> (whose memory it is, bytes); writes: memory ->
        bytes. What is found in part is priced as that part of a launch that finds all of it."""
        known = {name: (key, n) for name, (key, n) in reads.items() if key in self.last}
        new = sum(writes.values()) + sum(n for name, (_, n) in reads.items() if name not in known)
        found = dict.fromkeys(known, 1.0)
        for _ in range(ROUNDS):
            loads = new + sum((1 - found[name]) * n for name, (_, n) in known.items())
            found = {name: self._share(key, 0.0, loads) for name, (key, _) in known.items()}
        stays = {key: self._share(key, loads, loads) for key in self.dirty}
        stays |= {key: max(found[name], stays.get(key, 0.0)) for name, (key, _) in known.items()}
        back = sum(n * max(0.0, self._share(key, 0.0, 0.0) - stays[key]) for key, n in self.dirty.items())
        us, at, made = 0.0, 0.0, None
        for share in sorted({*found.values(), 1.0} - {0.0}):
            one = kernel.predict(held=[name for name, f in found.items() if f >= share], pushed=back)
            us, at, made = us + (share - at) * one.us, share, made or one
        for name, (key, _) in known.items():
            if key in self.dirty:
                self.dirty[key] *= found[name]
        self.last |= dict.fromkeys((*(key for key, _ in reads.values()), *writes), len(self.loads))
        self.dirty |= writes
        self.loads.append(loads)
        return replace(made, us=us)

    def _share(self, key: Hashable, first: float, last: float) -> float:
        """Of a tensor, what is there when `first` (at p = 0) to `last` bytes (at p = 1) more have been loaded."""
        i = self.last[key]
        between = sum(self.loads[i + 1 :])
        begin, end = between + self.loads[i] + first - self.room, between + last - self.room
        if begin < 0 and end < 0:
            return 1.0
        return 0.0 if min(begin, end) >= 0 else -min(begin, end) / abs(begin - end)
