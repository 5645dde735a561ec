"""Rules for the fused kernels of attention's scores, linear layers and a recommender's head; each where the modelled
tables in data/ say that one launch is faster.
"""

from __future__ import annotations

import torch
from torch import fx

from labkit.fusion.passes import Rule, call
from labkit.fusion.rule_parts import on_npu, tensors_of
from labkit.fusion.spelling import aten, value
from labkit.messages import text
from labkit.operators import availability


def missing(op: str) -> str:
    """ "" when torch.ops.lab.<op> can be called on npu, which the first call builds; else why not, in a line."""
    return availability.missing(op, f"kernels/{op}/{op}_torch.asc")


# ---- softmax(x * scale + mask). Dropout that is active stays PyTorch's: the kernel cannot draw the same numbers


def _softmax_patterns() -> list:
    from torch._inductor.pattern_matcher import CallFunction, Ignored, KeywordArg

    found, x = [], KeywordArg("x")
    scaled = (CallFunction(aten.mul.Tensor, x, KeywordArg("times")), CallFunction(aten.div.Tensor, x, KeywordArg("by")))
    masked = [CallFunction(aten.add.Tensor, s, KeywordArg("mask")) for s in (*scaled, x)]
    for scores in (*masked, *scaled):
        plain = CallFunction(aten.softmax.int, scores, -1, Ignored())
        found += [CallFunction(aten.to.dtype, plain, Ignored(), False, False, Ignored()), plain]
    return found


def _why_not_softmax(match, x, mask=None, times=1.0, by=1.0) -> str:
    tensors = tensors_of(x) if mask is None else tensors_of(x, mask)
    last = match.output_node()
    if tensors is None or any(n.kwargs for n in match.nodes if n.target is aten.add.Tensor):
        return text("fusion.left.arguments", node=last.name)
    if not all(isinstance(n, (int, float)) for n in (times, by)) or by == 0:
        return text("fusion.left.arguments", node=last.name)
    if value(last).dtype != tensors[0].dtype:
        return text("fusion.left.types", types=f"{tensors[0].dtype}, {value(last).dtype}".replace("torch.", ""))
    if value(last).shape != tensors[0].shape:
        return text("fusion.left.broadcast", shapes=", ".join(str(tuple(t.shape)) for t in tensors))
    if mask is not None and tensors[1].requires_grad:  # its gradient is not computed
        return text("fusion.left.arguments", node=mask.name)
    return on_npu(*tensors) or missing("softmax_mask_dropout")


def _softmax(match, x, mask=None, times=1.0, by=1.0) -> fx.Node:
    op = torch.ops.lab.softmax_mask_dropout.default
    return call(match.output_node().graph, op, x, mask, float(times) / float(by))


# ---- a linear layer and what is behind it

ACTS = {"relu": aten.relu, "gelu": aten.gelu, "silu": aten.silu, "sigmoid": aten.sigmoid, "tanh": aten.tanh}
# us behind the product for a million elements, what a launch takes, and what the one launch takes longer than its
# product: pays() of kernels/linear_act/linear_act_torch.asc, from the modelled times in data/linear_act.csv
BEHIND = {"none": 1.6, "relu": 1.6, "gelu": 3.6, "silu": 3.0, "sigmoid": 2.8, "tanh": 2.8}
LAUNCH, MIXED = 2.0, 12.5


def pays(m: int, i: int, act: str) -> bool:
    """Whether the one launch is faster than the launches that it replaces, for a result of [m, i]."""
    return m * i * 1e-6 * BEHIND[act] + LAUNCH > MIXED


def _linear_patterns() -> list:
    from torch._inductor.pattern_matcher import CallFunction, KeywordArg

    linear = CallFunction(aten.linear.default, KeywordArg("x"), KeywordArg("weight"), KeywordArg("bias"))
    found, residual = [], KeywordArg("residual")
    sums = [CallFunction(aten.add.Tensor, *pair) for pair in ((linear, residual), (residual, linear))]
    for z in (*sums, linear):
        for act, op in ACTS.items():
            how = {"approximate": "tanh"} if act == "gelu" else {}
            found.append(CallFunction(op.default, z, **how))
    return [*found, *sums]


def _act_of(match) -> str:
    return next((act for act, op in ACTS.items() if match.output_node().target is op.default), "none")


def _why_not_linear(match, x, weight, bias, residual=None) -> str:
    last, act = match.output_node(), _act_of(match)
    tensors = tensors_of(*(n for n in (x, weight, bias, residual) if n is not None))
    if tensors is None or any(n.kwargs for n in match.nodes if n.target is aten.add.Tensor):
        return text("fusion.left.arguments", node=last.name)
    if residual is not None and (tensors[-1].shape != value(last).shape or tensors[-1].dtype != value(last).dtype):
        return text("fusion.left.broadcast", shapes=f"{tuple(tensors[-1].shape)}, {tuple(value(last).shape)}")
    why = on_npu(*tensors)
    if why:
        return why
    sizes = value(last).shape
    if any(not isinstance(n, int) for n in sizes) or not pays(sizes.numel() // max(sizes[-1], 1), sizes[-1], act):
        return text("fusion.left.small", node=last.name)
    if act in ("gelu", "silu") and torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        return text("fusion.left.again", node=last.name)
    if max(tensors[1].shape) > 65535:
        return text("fusion.left.weights", longest=65535)
    return missing("linear_act")


def _linear(match, x, weight, bias, residual=None) -> fx.Node:
    op = torch.ops.lab.linear_act.default
    return call(match.output_node().graph, op, x, weight, bias, residual, _act_of(match))


FUSED = (
    Rule("softmax_mask", _softmax_patterns, _why_not_softmax, _softmax, needs=("npu",)),
    Rule("linear_act", _linear_patterns, _why_not_linear, _linear, needs=("npu",)),
)
