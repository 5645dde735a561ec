"""Many comparisons at once: which of them count, if all together are to raise a false alarm no more often than one."""

from __future__ import annotations

from collections.abc import Sequence

from labkit.bench.pairs import CONFIDENCE, Comparison


def holm(chances: Sequence[float], level: float = 1 - CONFIDENCE) -> list[bool]:
    """For each chance (p-value) whether it counts by Holm's steps: the smallest has to be below level / n, the next
    below level / (n - 1), and so on until one is not. Holds however the comparisons hang together."""
    found = [False] * len(chances)
    for place, i in enumerate(sorted(range(len(chances)), key=lambda i: chances[i])):
        if chances[i] >= level / (len(chances) - place):
            break
        found[i] = True
    return found


def slower(compared: Sequence[Comparison], together: bool = False) -> list[str]:
    """The names that are slower: each by its own verdict or, `together`, those that Holm's steps leave as well."""
    counts = holm([c.chance for c in compared]) if together else [True] * len(compared)
    return [c.b for c, counted in zip(compared, counts, strict=True) if counted and c.verdict == "slower"]
