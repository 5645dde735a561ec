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

import operator
from typing import NamedTuple

import torch
from torch import fx
from torch.fx import subgraph_rewriter
from torch.nn import functional as F

from labkit.messages import text

from .layer import TYPES, is_rows, missing

aten = torch.ops.aten
SILU, PRODUCT = (F.silu, aten.silu.default), (operator.mul, aten.mul.Tensor)


class Fused(NamedTuple):
    """replaced: how many products became lab::swiglu; left: why the others did not, in words."""

    replaced: int
    left: list[str]


def one_spelling(graph: fx.Graph) -> fx.Graph:
    """F.silu(x, inplace=False), torch.mul(a, b) and a.mul(b) become F.silu(x) and a * b, so that a few patterns do."""
    for node in graph.nodes:
        if node.target is F.silu and not node.kwargs.get("inplace"):
            node.kwargs = {}
        elif len(node.args) == 2 and not node.kwargs and node.target in (torch.mul, torch.multiply, "mul"):
            node.op, node.target = "call_function", operator.mul
    return graph


def patterns() -> list[fx.Graph]:
    """silu(gate) * up and up * silu(gate), as Dynamo writes them and as torch.export does."""

    def product(gate, up):
        return F.silu(gate) * up

    def turned(gate, up):
        return up * F.silu(gate)

    def exported(gate, up):
        return aten.mul.Tensor(aten.silu.default(gate), up)

    def exported_turned(gate, up):
        return aten.mul.Tensor(up, aten.silu.default(gate))

    return [one_spelling(fx.symbolic_trace(f).graph) for f in (product, turned, exported, exported_turned)]


def replacement(gate, up):
    return torch.ops.lab.swiglu.default(gate, up)


def fuse(module: fx.GraphModule) -> Fused:
    """Replaces silu(gate) * up by lab::swiglu where the operator can compute it, in place."""
    left: list[str] = []

    def fits(match, graph, pattern) -> bool:
        gate, up = (match.nodes_map[node] for node in pattern.nodes if node.op == "placeholder")
        why = why_not(
            *(n.meta.get("example_value", n.meta.get("val")) if isinstance(n, fx.Node) else n for n in (gate, up))
        )
        left.extend([why] if why else [])
        return not why

    one_spelling(module.graph)
    found = [
        subgraph_rewriter.replace_pattern_with_filters(module, pattern, replacement, match_filters=[fits])
        for pattern in patterns()
    ]
    kept = [n for n in module.graph.nodes if n.target in SILU and any(user.target in PRODUCT for user in n.users)]
    left += [text("swiglu.left.used")] * (len(kept) - len(left))  # the rewriter does not even ask about these
    return Fused(sum(map(len, found)), left)


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
