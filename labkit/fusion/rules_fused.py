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


FUSED = (Rule("softmax_mask", _softmax_patterns, _why_not_softmax, _softmax, needs=("npu",)),)
