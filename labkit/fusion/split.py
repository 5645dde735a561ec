"""A fused chain cut in two: as two kernels, each with fewer values alive at a time."""

from __future__ import annotations

from labkit.codegen import Refused
from labkit.fusion.fused import FusedKernel
from labkit.fusion.graph import CONSTANTS, Traced, name_of

MOST_TRIED = 10  # places to cut at


def best_split(kernel: FusedKernel) -> list[FusedKernel] | None:
    """The two kernels whose predicted times have the least sum; None where a chain cannot be cut. Nothing is built."""
    traced = kernel.prepare(kernel.example).traced
    nodes = [n for n in traced.graph.graph.nodes if n.op == "call_function"]
    work = [i for i, n in enumerate(nodes) if name_of(n) not in CONSTANTS][:-1]
    step = max(1, len(work) // MOST_TRIED)
    found = []
    for i in work[::step]:
        try:
            parts = [_part(kernel, traced, nodes[: i + 1]), _part(kernel, traced, nodes[i + 1 :])]
        except (Refused, RuntimeError, KeyError):  # a part that is no kernel by itself
            continue
        found.append((sum(part.predict().us for part in parts), len(found), parts))
    return min(found)[2] if found else None


def _part(kernel: FusedKernel, traced: Traced, nodes: list) -> FusedKernel:
    import torch

    inside = set(nodes)
    wanted = set(traced.outputs)
    inputs = list(dict.fromkeys(a for n in nodes for a in n.all_input_nodes if a not in inside and _is_given(a)))
    outputs = [n for n in nodes if n in wanted or any(u not in inside for u in n.users)]
    outputs = [n for n in outputs if not (isinstance(n.meta["val"], (tuple, list)) or name_of(n) in CONSTANTS)]
    attributes = {
        a: getattr(traced.graph, a.target) if a.op == "get_attr" else None
        for n in nodes
        for a in n.all_input_nodes
        if a not in inside and not _is_given(a)
    }

    def call(*tensors):
        there = dict(zip(inputs, tensors))
        for a, held in attributes.items():
            there[a] = held if held is not None else a.target(*a.args, **a.kwargs)
        for n in nodes:
            args, kwargs = torch.fx.map_arg((n.args, n.kwargs), there.__getitem__)
            there[n] = n.target(*args, **kwargs)
        made = tuple(there[n] for n in outputs)
        return made[0] if len(made) == 1 else made

    values = [n.meta["val"] for n in inputs]
    like = [torch.empty_strided(v.shape, v.stride(), dtype=v.dtype, device="meta") for v in values]
    return FusedKernel(call, like, f"{kernel.name}_part", "once", kernel.chip, False)


def _is_given(node) -> bool:
    return node.op != "get_attr" and not (node.op == "call_function" and name_of(node) in CONSTANTS)
