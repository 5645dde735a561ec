"""A group of a model's operators as the kernel that the generator writes for it, and what that kernel would take.

Nothing is compiled: labkit.codegen.clock predicts the fused launch, and the launches of a kernel for each operator that
the same generator writes. The two prices come from one model, so their ratio is what fusing gives and nothing else.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field

import torch
from torch import fx

from labkit.codegen import WIDE
from labkit.codegen.clock import Prediction
from labkit.codegen.places import result_bytes
from labkit.fusion.fused import FusedKernel
from labkit.fusion.graph import refuse
from labkit.fusion.groups import Group
from labkit.fusion.spelling import value


@dataclass
class Generated:
    """kernel: of the group; fused: its launch; chain: a launch for each operator, in order; both predicted."""

    kernel: FusedKernel = field(repr=False)
    fused: Prediction
    chain: list[Prediction]

    @property
    def ub_bytes(self) -> int:
        """For each element of a tile."""
        return int(result_bytes(self.kernel.plan))

    @property
    def passes(self) -> int:
        """How often a row goes through UB."""
        plan = self.kernel.plan
        return sum(s.kind == "pass" for s in plan.sections) if plan.program.shape == WIDE else 1


def generated(group: Group, chip: str) -> Generated:
    """Raises Refused where the generator cannot write the group as one kernel, or would have to lay an input out anew
    before it."""
    if group.product is not None or group.kind == "attention":
        raise refuse("product", kind=group.kind)
    kernel = FusedKernel(function_of(group), _examples(group), _name(group), "once", chip, True)
    if kernel.space.copied:
        raise refuse("laid_out", names=", ".join(kernel.space.copied))
    kernel.operators = _graph(group)
    return Generated(kernel, kernel.predict(), kernel.chain().predictions)


def function_of(group: Group):
    """The group's operators as a function of group.inputs, with the names that those have in the model."""
    inputs, outputs = group.inputs, group.outputs
    known = set(inputs) | set(group.nodes)
    for node in group.nodes:
        unknown = [n for n in node.all_input_nodes if n not in known]
        if unknown or node.op != "call_function":
            raise refuse("not_a_tensor", name=(unknown or [node])[0].name, node=node.name)

    def call(*tensors):
        there = dict(zip(inputs, tensors))
        for node in group.nodes:
            args, kwargs = fx.map_arg((node.args, node.kwargs), there.__getitem__)
            there[node] = node.target(*args, **kwargs)
        made = tuple(there[n] for n in outputs)
        return made[0] if len(made) == 1 else made

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    call.__signature__ = inspect.Signature([inspect.Parameter(n.name, kind) for n in inputs])
    call.__name__ = _name(group)
    return call


def _graph(group: Group) -> fx.Graph:
    """The group's operators by themselves, so that each is one launch of the chain."""
    graph, there = fx.Graph(), {}
    for node in group.inputs:
        there[node] = graph.placeholder(node.name)
        there[node].meta = {"val": value(node)}
    for node in group.nodes:
        there[node] = graph.node_copy(node, there.__getitem__)
    return graph


def _examples(group: Group) -> list[torch.Tensor]:
    made = [value(n) for n in group.inputs]
    return [torch.empty_strided(tuple(t.shape), t.stride(), dtype=t.dtype, device="meta") for t in made]


def _name(group: Group) -> str:
    return "".join(c if c.isalnum() else "_" for c in group.kind)
