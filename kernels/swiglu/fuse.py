"""SwiGLU put into a compiled graph: a pass over torch.fx that finds silu(gate) * up, and a backend of torch.compile
with it.

    fusing = swiglu.Fusing()
    model = torch.compile(model, backend=fusing)
    ...
    fusing.replaced, fusing.left

The pass works on the graph that Dynamo captures, before autograd differentiates it: lab::swiglu brings its own
backward. It takes a graph of torch.export as well.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import fx

from labkit.messages import text

from .layer import TYPES, is_rows, missing


class Fused(NamedTuple):
    """replaced: how many products became lab::swiglu; left: why the others did not, in words."""

    replaced: int
    left: list[str]


def fuse(module: fx.GraphModule) -> Fused:
    """Replaces silu(gate) * up by lab::swiglu where the operator can compute it, in place: one rule of the general pass
    (labkit/fusion), which knows the spellings of Dynamo and of torch.export and what is changed in between."""
    from labkit.fusion import RULES, apply

    outcome = apply(module, [RULES["swiglu"]])
    return Fused(outcome.count, outcome.left)


def why_not(gate, up) -> str:
    """Why lab::swiglu cannot stand for silu(gate) * up with such tensors; "" where it can."""
    if not (isinstance(gate, torch.Tensor) and isinstance(up, torch.Tensor)):
        return text("swiglu.left.number")
    if {gate.device.type, up.device.type} != {"npu"}:
        return text("swiglu.left.device", gate=gate.device.type, up=up.device.type)
    if gate.shape != up.shape:
        return text("swiglu.left.shapes", gate=tuple(gate.shape), up=tuple(up.shape))
    if gate.dtype != up.dtype or gate.dtype not in TYPES:
        return text("swiglu.left.types", gate=gate.dtype, up=up.dtype)
    if not (is_rows(gate) and is_rows(up)):
        return text("swiglu.left.strides", gate=gate.stride(), up=up.stride())
    return missing("swiglu")


class Fusing:
    """A backend of torch.compile: the pass, then `inner`. replaced, left: of all graphs so far; graphs: how many there
    were.
    """

    def __init__(self, inner: str = "aot_eager"):
        self.inner, self.replaced, self.left, self.graphs = inner, 0, [], 0

    def __call__(self, module: fx.GraphModule, example_inputs, **options):
        replaced, left = fuse(module)
        self.replaced, self.left, self.graphs = self.replaced + replaced, self.left + left, self.graphs + 1
        return torch._dynamo.lookup_backend(self.inner)(module, example_inputs, **options)

    def __repr__(self) -> str:
        return f"Fusing({self.inner!r}): {self.replaced} replaced, {len(self.left)} left, {self.graphs} graphs"
