"""Benchmarks that deserve trust: warm until steady, timed by events, compared in pairs, with intervals.

    m = labkit.bench.measure(lambda: model(x))              # a Measurement: samples in us, and what they say
    labkit.bench.compare(lambda: old(x), lambda: new(x))    # paired rounds: the ratio, its interval, a verdict
    labkit.bench.throughput(step)                           # what gets done in a time, and what was busy
    labkit.bench.sweep(make, sizes)                         # over batch sizes, with the size to take
    labkit.bench.processes(make, (1, 2, 4))                 # also streams, devices: the scaling curve, what is lost
    labkit.bench.shapes.draw(50, seed=1)                    # shapes to measure, with the extremes
    labkit.bench.plot.samples(m)                            # pictures of each of them

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
    "save_for_pytest_benchmark": "foreign",
    "throughput": "duration",
    "Throughput": "duration",
    "sweep": "sizes",
    "Sweep": "sizes",
    "streams": "scaling",
    "devices": "scaling",
    "processes": "scaling",
    "Scaling": "scaling",
    "fit": "laws",
    "Fit": "laws",
    "shapes": "shapes",
    "plot": "plot",
}
_MODULES = ("shapes", "plot")
__all__ = sorted(_NAMES)


def __getattr__(name: str):
    if name not in _NAMES:
        raise AttributeError(f"labkit.bench has no {name!r}; it has {', '.join(__all__)}")
    module = importlib.import_module(f"labkit.bench.{_NAMES[name]}")
    return module if name in _MODULES else getattr(module, name)


def __dir__() -> list[str]:  # what Tab and help() offer
    return sorted({*globals(), *_NAMES})
