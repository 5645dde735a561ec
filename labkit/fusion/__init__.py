"""labkit.fusion: several operators of PyTorch as one kernel.

labkit.fusion.kernel(function, example_inputs) writes the Ascend C of a chain of elementwise operators, broadcasts and
row reductions: fused.py is the object, graph.py and space.py find rows and columns in a graph, lower.py makes the
steps, chain.py is the same function unfused, operator.py registers it.
"""

from __future__ import annotations

from labkit.codegen import Refused
from labkit.fusion.fused import TOLERANCE, Check, FusedKernel, kernel

__all__ = ["TOLERANCE", "Check", "FusedKernel", "Refused", "kernel"]
