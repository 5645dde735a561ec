"""Benchmarks that deserve trust: warm until steady, timed by events, compared in pairs, with intervals.

    m = labkit.bench.measure(lambda: model(x))              # a Measurement: samples in us, and what they say
    labkit.bench.compare(lambda: old(x), lambda: new(x))    # paired rounds: the ratio, its interval, a verdict

On an NPU times are measured; on the simulated device they are modelled, and every result says which.
"""

from __future__ import annotations

import importlib

_NAMES = {
    "measure": "timing",
    "Measurement": "timing",
    "compare": "pairs",
    "Comparison": "pairs",
    "judge": "pairs",
    "save": "results",
    "load": "results",
    "table": "results",
    "gate": "results",
    "steady_from": "statistics",
    "interval": "statistics",
    "check": "lies",
    "holm": "many",
}
__all__ = sorted(_NAMES)


def __getattr__(name: str):
    if name not in _NAMES:
        raise AttributeError(f"labkit.bench has no {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(f"labkit.bench.{_NAMES[name]}"), name)
