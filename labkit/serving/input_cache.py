"""Inputs that come again stay on the device: a cache that gives up what was used least recently."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any


class InputCache:
    """At most `size` entries by key. size 0 keeps nothing, and every look is a miss."""

    def __init__(self, size: int):
        self.size = size
        self.hits = self.misses = 0
        self._kept: OrderedDict[Any, Any] = OrderedDict()

    def get(self, key) -> Any:
        """What was kept under the key, None where there is nothing; it counts as used now."""
        if key in self._kept:
            self._kept.move_to_end(key)
            self.hits += 1
            return self._kept[key]
        self.misses += 1
        return None

    def put(self, key, value) -> None:
        """Keeps the value; where that is one too many, the one that nobody used for longest goes."""
        if self.size <= 0:
            return
        self._kept[key] = value
        self._kept.move_to_end(key)
        while len(self._kept) > self.size:
            self._kept.popitem(last=False)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def hit_share(self) -> float:
        return self.hits / max(1, self.hits + self.misses)
