"""A served model under load: a small decoder on the npu behind a queue, and each step that makes such a server faster.

    serving.Engine(serving.NAIVE)                       # runs the model, on the device's clock
    serving.simulate(settings, serving.poisson(...))    # ten thousand requests, by the modelled times of its steps
    serving.highest_load(settings, ...)                 # the most requests a second within a limit on P99
    serving.app(...)                                    # the OpenAI-style endpoint of `labkit serve`

The six steps are the switches of `Settings`. Times are those of the simulated device: modelled, and every result says
so. The times of a step of the model are measured on that device once (data/serving_step_times.csv) and interpolated;
the queueing between them is simulated.
"""

from __future__ import annotations

import importlib

_NAMES = {
    "Settings": "settings",
    "Request": "settings",
    "NAIVE": "settings",
    "STEPS": "settings",
    "ladder": "settings",
    "PagePool": "kv_cache",
    "SlotPool": "kv_cache",
    "InputCache": "input_cache",
    "Scheduler": "batching",
    "Engine": "engine",
    "Decoder": "model",
    "StepTimes": "step_times",
    "poisson": "load",
    "bursty": "load",
    "WORKLOADS": "load",
    "simulate": "simulation",
    "highest_load": "simulation",
    "Result": "simulation",
    "little": "law",
    "waiting": "law",
    "capacity": "law",
    "app": "endpoint",
    "serve": "endpoint",
}
__all__ = sorted(_NAMES)


def __getattr__(name: str):
    if name not in _NAMES:
        raise AttributeError(f"labkit.serving has no {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(f"labkit.serving.{_NAMES[name]}"), name)


def __dir__() -> list[str]:  # what Tab and help() offer
    return sorted({*globals(), *_NAMES})
