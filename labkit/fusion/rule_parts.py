"""What rules ask of the tensors of a match, and nodes that they make."""

from __future__ import annotations

import operator as functions

import torch
from torch import fx

from labkit.fusion.spelling import is_tensor, value
from labkit.messages import text
from labkit.operators import operator

TYPES = (torch.float16, torch.bfloat16, torch.float32)


def on_npu(*tensors: torch.Tensor) -> str:
    """Why a kernel cannot take these tensors together: another device, another type; "" where it can."""
    if {t.device.type for t in tensors} != {"npu"}:
        return text("fusion.left.device", devices=", ".join(sorted({t.device.type for t in tensors})))
    types = sorted({str(t.dtype).removeprefix("torch.") for t in tensors})
    return text("fusion.left.types", types=", ".join(types)) if len(types) > 1 or tensors[0].dtype not in TYPES else ""


def rows_of(*tensors: torch.Tensor) -> str:
    """Why a kernel on rows cannot take these tensors together; "" where it can."""
    is_rows = operator("swiglu").is_rows
    apart = [t for t in tensors if t.dim() and not is_rows(t)]
    return on_npu(*tensors) or (text("fusion.left.rows", stride=apart[0].stride()) if apart else "")


def tensors_of(*nodes) -> list[torch.Tensor] | None:
    """What is known of them, None where one is no tensor."""
    return [value(n) for n in nodes] if all(is_tensor(n) for n in nodes) else None


def item(graph: fx.Graph, node: fx.Node, i: int) -> fx.Node:
    """A node for the i-th result of a node that has several."""
    made = graph.call_function(functions.getitem, (node, i))
    made.meta["val"] = value(node)[i]
    return made
