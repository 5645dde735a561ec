"""labkit.tuning: the fastest of many ways to run the same operator, found within a budget of launches.

    tuned = labkit.fusion.tune(kernel, budget=40, storage="tuning.db")   # a generated kernel: tile, cores, slots, order
    tuned = labkit.fusion.tune(function, tensors)                        # the same, the kernel is made first
    tuned = labkit.fusion.tune(labkit.tuning.sets(function, tensors))    # which neighbours of a graph become one kernel
    tuned = labkit.fusion.tune(labkit.tuning.written(path, ...))         # template parameters of somebody's kernel
    tuned.best, tuned.us, tuned.made                                     # the candidate, its time, the kernel cut so

problem.py: parameters and candidates. cuts.py, fusion_sets.py, sources.py: the three kinds of problems. clock.py:
what a candidate takes. search.py: the search, on an Optuna study. table.py: all candidates timed, to judge searches
by. policy.py: a policy that learns from other problems. plot.py: pictures. choice.py: which implementation of an
operator for a chip and a shape.
"""

from __future__ import annotations

import importlib
from typing import Any

from labkit.tuning.problem import Invalid, Problem

_NAMES = {
    "generated": ("cuts", "generated"),
    "written": ("sources", "written"),
    "sets": ("fusion_sets", "sets"),
    "Tuned": ("search", "Tuned"),
    "tune": ("search", "tune"),
    "Table": ("table", "Table"),
    "Policy": ("policy", "Policy"),
    "lesson": ("policy", "lesson"),
    "Choice": ("choice", "Choice"),
    "plot": ("plot", None),
}
__all__ = ["Invalid", "Problem", *sorted(_NAMES)]


def __getattr__(name: str) -> Any:  # optuna and torch are imported when somebody asks
    if name not in _NAMES:
        raise AttributeError(f"labkit.tuning has no {name!r}; it has {', '.join(__all__)}")
    home, what = _NAMES[name]
    module = importlib.import_module(f"{__name__}.{home}")
    return module if what is None else getattr(module, what)


def __dir__() -> list[str]:
    return sorted([*globals(), *_NAMES])
