"""Which share of a window the device's engines were busy, from the pieces of work on the virtual clock.

A node has no such list outside of a profiler: there the shares are empty, and `labkit trace report` gives them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Utilisation:
    """engines: by name (labkit.device.ENGINES without "cores", which counts for vector and cube), the share of the
    window in which it works. device: the share in which at least one does. memory: the bytes of all tensors that pass,
    over what HBM could have moved; above 1 the L2 served a part. Each engine is modelled as if it had HBM to itself:
    where two of them overlap and memory is near 1, the modelled overlap is too good. Averages over `devices`."""

    window_us: float = 0.0
    engines: dict[str, float] = field(default_factory=dict)
    device: float = 0.0
    memory: float = 0.0
    launches: int = 0
    devices: int = 1


def utilisation(spans: Iterable, begin_us: float, end_us: float, hbm: float, devices: int = 1) -> Utilisation:
    """Of device.Span pieces; hbm: bytes per second."""
    from labkit.device import ENGINES

    window = end_us - begin_us
    parts: dict[str, list[tuple[float, float]]] = {name: [] for name in ENGINES if name != "cores"}
    every: dict[int, list[tuple[float, float]]] = {}
    moved, count = 0.0, 0
    for span in spans:
        start, end = max(span.start_us, begin_us), min(span.end_us, end_us)
        if end <= start:
            continue
        count += 1
        for name in ("vector", "cube") if span.engine == "cores" else (span.engine,):
            parts[name].append((start, end))
        every.setdefault(span.device, []).append((start, end))
        if span.engine in ("vector", "cube", "cores"):
            moved += span.bytes * (end - start) / (span.end_us - span.start_us)
    if window <= 0:
        return Utilisation(devices=devices)
    whole = window * devices
    # an engine does one thing at a time, so its pieces add up; those of several engines overlap
    shares = {name: sum(e - s for s, e in pieces) / whole for name, pieces in parts.items()}
    some = sum(_union(pieces) for pieces in every.values()) / whole
    return Utilisation(window, shares, some, moved / hbm / (whole * 1e-6), count, devices)


def _union(pieces: list[tuple[float, float]]) -> float:
    total, reached = 0.0, float("-inf")
    for start, end in sorted(pieces):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


def together(parts: list[Utilisation], one_card: bool) -> Utilisation:
    """Of several processes with equal windows: on one card their shares add up; on cards of their own they average,
    each process with as much weight as it has cards."""
    cards = 1 if one_card else sum(p.devices for p in parts)
    weights = [1 if one_card else p.devices for p in parts]

    def over(shares: Iterable[float]) -> float:
        return sum(w * share for w, share in zip(weights, shares)) / cards

    names = dict.fromkeys(name for p in parts for name in p.engines)
    return Utilisation(
        max(p.window_us for p in parts),
        {name: over(p.engines.get(name, 0.0) for p in parts) for name in names},
        min(1.0, over(p.device for p in parts)),
        over(p.memory for p in parts),
        sum(p.launches for p in parts),
        cards,
    )
