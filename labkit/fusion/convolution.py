"""The rule for a convolution and the activation behind it, with the batch norm folded already: lab::conv_bn_act, one
launch on npu in float16 and bfloat16, for inference. Its weights are packed once, so they must be constants of the
graph, as labkit.fusion.fuse() has them.
"""

from __future__ import annotations

import torch
from torch import fx

from labkit.fusion.passes import Rule, call, only_positional
from labkit.fusion.spelling import aten, is_tensor, name_of, value
from labkit.messages import text
from labkit.operators import availability, operator

_ACTIVATIONS = {"relu": aten.relu.default, "silu": aten.silu.default}
_LAYS_OUT = ("reshape", "permute", "view", "transpose")  # of a weight, by another rule


def patterns() -> list:
    from torch._inductor.pattern_matcher import CallFunction, KeywordArg

    names = ("x", "weight", "bias", "stride", "padding", "dilation", "groups")
    conv = CallFunction(aten.conv2d.default, *map(KeywordArg, names))
    return [*(CallFunction(act, conv) for act in _ACTIVATIONS.values()), conv]


def why_not(match, x, weight, bias, stride, padding, dilation, groups) -> str:
    ops, node = operator("conv_bn_act"), match.output_node()
    if not (is_tensor(x) and is_tensor(weight)) or not only_positional(match):
        return text("fusion.left.arguments", node=node.name)
    given, w = value(x), value(weight)
    if given.device.type != "npu":
        return text("fusion.left.device", devices=given.device.type)
    if given.dtype not in ops.TYPES or w.dtype != given.dtype:
        return text("fusion.left.conv_types", node=node.name, dtype=str(given.dtype).removeprefix("torch."))
    fixed = all(isinstance(n, int) for n in given.shape[1:])
    if not fixed or ops.why_not(given, w, stride, padding, dilation, groups):
        return text("fusion.left.convolution", node=node.name)
    if constant(weight) is None or (bias is not None and constant(bias) is None):
        return text("fusion.left.changes", node=node.name)
    return availability.missing("conv_bn_act", ops.SOURCE)


def build(match, x, weight, bias, stride, padding, dilation, groups) -> fx.Node:
    ops, node = operator("conv_bn_act"), match.output_node()
    given, w, graph = value(x), constant(weight), node.graph
    activation = next((name for name, act in _ACTIVATIONS.items() if node.target is act), "none")
    numel = value(node).numel()
    apart = not isinstance(numel, int) or ops.chosen(numel, activation) == "apart"
    form = ops.layout(given.shape, w.shape[2:], stride, padding, ops.channels_last(given))
    b = torch.zeros(len(w), device=w.device) if bias is None else constant(bias)
    packed = [_buffer(graph, t) for t in (ops.pack(w, form), ops.pack_bias(b))]
    inner = "none" if apart and activation == "silu" else activation
    made = call(
        graph, torch.ops.lab.conv_bn_act.default,
        x, *packed, len(w), list(w.shape[2:]), list(stride), list(padding), inner, form,
    )  # fmt: skip
    return made if inner == activation else call(graph, aten.silu.default, made)


def constant(node) -> torch.Tensor | None:
    """The tensor that a node will always give: an attribute of the module, or one that a rule laid out; else None."""
    if not isinstance(node, fx.Node):
        return None
    if node.op == "get_attr":
        at = node.graph.owning_module
        for name in node.target.split("."):
            at = getattr(at, name)
        return at.detach() if isinstance(at, torch.Tensor) else None
    source = constant(node.args[0]) if node.op == "call_function" and name_of(node) in _LAYS_OUT else None
    return None if source is None else node.target(source, *node.args[1:])


def _buffer(graph: fx.Graph, tensor: torch.Tensor) -> fx.Node:
    module = graph.owning_module
    name = f"packed_{sum(n.startswith('packed_') for n, _ in module.named_buffers())}"
    module.register_buffer(name, tensor)
    node = graph.get_attr(name)
    node.meta["val"] = tensor if torch.is_tensor(tensor) else None
    return node


RULE = Rule("conv_bn_act", patterns, why_not, build, trains=False, needs=("npu",))
