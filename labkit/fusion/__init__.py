"""labkit.fusion: several operators of PyTorch as one kernel: what it would save, and doing it.

    labkit.fusion.analyze(model, x)                                   # which parts, how much, by the chip's model
    model = torch.compile(model, backend=labkit.fusion.backend())     # trains, takes any batch
    fast = labkit.fusion.fuse(model, x)                               # for inference: batch norm folded too
    labkit.fusion.kernel(function, example_inputs)                    # the Ascend C of a chain, written for it
    labkit.fusion.compare(model, fast, x)                             # the same? where does a difference come from?
    labkit.fusion.why_slower(kernel)                                  # where it gains less than it should: why
    labkit.fusion.tune(kernel)                                        # its fastest tile, cores, slots: labkit.tuning

Of kernel(): fused.py is the object, graph.py and space.py find rows and columns in a graph, lower.py and lower_rows.py
make the steps, formulas.py says how far they are off, chain.py is the same function unfused, l2.py
what its launches find in the L2, operator.py registers it. Of the passes: spelling.py, passes.py,
rules.py, rule_parts.py, rules_fused.py, convolution.py, batchnorm.py, compiled.py, targets.py. Of trust: rounded.py,
equivalence.py, precision.py. Of the analysis: groups.py, traffic.py, generated.py, opportunities.py, picture.py.
slower.py says why a kernel does not gain what it should, split.py cuts one in two.
"""

from __future__ import annotations

import importlib
from typing import Any

from labkit.codegen import Refused
from labkit.fusion.fused import TOLERANCE, Check, FusedKernel, kernel

__all__ = ["TOLERANCE", "Check", "FusedKernel", "Refused", "kernel"]
_HOMES = {
    "Outcome": "passes",
    "Rule": "passes",
    "apply": "passes",
    "RULES": "rules",
    "backend": "compiled",
    "Backend": "compiled",
    "capture": "spelling",
    "fold_batchnorm": "compiled",
    "fuse": "compiled",
    "plan": "targets",
    "compare": "equivalence",
    "Equivalence": "equivalence",
    "Precision": "precision",
    "analyze": "opportunities",
    "why_slower": "slower",
    "tune": "labkit.tuning.search",  # a later room, which this one does not import
}


def __getattr__(name: str) -> Any:  # torch's compiler is imported when somebody asks
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES[name]
    return getattr(importlib.import_module(home if "." in home else f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
