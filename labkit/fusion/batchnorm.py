"""Batch norm folded into the convolution or the linear layer before it.

In inference, where the statistics of training stay as they are, y = (conv(x) - mean) * gamma / sqrt(var + eps) + beta
is an affine function of each channel, and so is the convolution's bias: scaling the weights' channels and moving the
bias gives the same y by one operator. The algebra is done in fp32 (fp64 for fp64) and rounded once, to the weight's
type. In training mode batch norm normalises by the batch's own statistics: then there is nothing to fold, and the
rule says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import fx

from labkit.fusion.passes import Rule, call
from labkit.fusion.spelling import aten, is_tensor, name_of, value
from labkit.messages import text

_FORWARD = ("conv1d", "conv2d", "conv3d")
_TRANSPOSED = ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


def fold(w, b, gamma, beta, mean, var, eps: float, transposed: bool = False, groups: int = 1, like=None) -> tuple:
    """(weight, bias) that do the batch norm too. w: [out, in / groups, ...], of a transposed convolution
    [in, out / groups, ...], of a linear layer [out, in]. b, gamma, beta may be None. The arguments may be proxies of a
    graph; then `like` is a tensor with the weight's shape and type.
    """
    like = w if like is None else like
    shape, ones = list(like.shape), [1] * (like.dim() - 2)
    wide = torch.float64 if like.dtype == torch.float64 else torch.float32
    scale = torch.rsqrt(var.to(wide) + eps)
    if gamma is not None:
        scale = scale * gamma.to(wide)
    if transposed:  # each group of the input's channels meets its own channels of the output
        by_group = w.to(wide).reshape([groups, shape[0] // groups, *shape[1:]])
        weight = (by_group * scale.reshape([groups, 1, shape[1], *ones])).reshape(shape)
    else:
        weight = w.to(wide) * scale.reshape([shape[0], 1, *ones])
    bias = -mean.to(wide) if b is None else b.to(wide) - mean.to(wide)
    bias = bias * scale
    if beta is not None:
        bias = bias + beta.to(wide)
    return weight.to(like.dtype), bias.to(like.dtype)


def rule(constants: Callable[[fx.Node], torch.Tensor | None], keep: Callable[..., tuple], live: bool = False) -> Rule:
    """The rule. constants: from a node to the tensor that it will always be, None where it may change. keep: from
    (node of the result, fold, its arguments) to the nodes of the folded weight and bias. live: the algebra becomes part
    of the graph instead, so that the parameters may change and get their gradients; it costs about ten small operators
    a layer.
    """

    def why_not(match, x, w, b, gamma, beta, mean, var, training, eps, **_) -> str:
        norm = match.output_node()
        before = next(n for n in match.nodes if n is not norm)
        if why := _why_not_norm(norm, training, mean, var, eps):
            return why
        if not is_tensor(w) or value(norm) is None:
            return text("fusion.bn.unknown", node=norm.name)
        dims = value(norm).dim()
        if dims != value(w).dim():  # a linear layer's features come last, the channels of batch norm second
            return text("fusion.bn.channels", node=norm.name, before=before.name, dims=dims)
        if name_of(before) == "linear" and dims != 2:
            return text("fusion.bn.channels", node=norm.name, before=before.name, dims=dims)
        given = [t for t in (w, b, gamma, beta, mean, var) if t is not None]
        if not live:
            if any(constants(t) is None for t in given):
                return text("fusion.bn.changes", node=norm.name)
            if not _finite(*(None if t is None else constants(t) for t in (w, b, gamma, beta, mean, var)), eps, before):
                return text("fusion.bn.overflows", node=norm.name, dtype=str(value(w).dtype).removeprefix("torch."))
        return ""

    def build(match, x, w, b, gamma, beta, mean, var, training, eps, wide: bool = False, **rest) -> fx.Node:
        norm = match.output_node()
        before = next(n for n in match.nodes if n is not norm)
        shape = (*_how(before), *([_in_float(w)] if wide else []))
        if live:
            weight, bias = _in_graph(norm.graph, (w, b, gamma, beta, mean, var), eps, *shape)
        else:
            weight, bias = keep(before, (w, b, gamma, beta, mean, var), eps, *shape)
        if not wide:
            made = norm.graph.call_function(before.target, (x, weight, bias, *before.args[3:]), dict(before.kwargs))
            made.meta["val"] = value(norm)
            return made
        x = call(norm.graph, aten.to.dtype, x, torch.float32, False, False, None)
        made = norm.graph.call_function(before.target, (x, weight, bias, *before.args[3:]), dict(before.kwargs))
        made.meta["val"] = value(norm).to(torch.float32)
        return call(norm.graph, aten.to.dtype, made, value(norm).dtype, False, False, None)

    def wide(*args, **kwargs) -> fx.Node:
        return build(*args, wide=True, **kwargs)

    return Rule("conv_bn", _patterns, why_not, build, trains=live, explain=_explain, wide=wide)


def _in_float(weight: fx.Node) -> torch.Tensor:
    """Of the weight's shape, for fold(): the folded weight is kept in float."""
    return torch.empty(value(weight).shape, dtype=torch.float32, device="meta")


def _patterns() -> list:
    from torch._inductor.pattern_matcher import CallFunction, Ignored, KeywordArg

    def norm(of):
        names = ("gamma", "beta", "mean", "var", "training")
        return CallFunction(
            aten.batch_norm.default, of, *map(KeywordArg, names), Ignored(), KeywordArg("eps"), Ignored()
        )

    head = [KeywordArg(n) for n in ("x", "w", "b")]
    forward = [getattr(aten, n).default for n in _FORWARD] + [getattr(aten, n).padding for n in _FORWARD]
    transposed = [aten.conv_transpose1d.default, aten.conv_transpose2d.input, aten.conv_transpose3d.input]
    return [
        norm(CallFunction(forward, *head, *(Ignored() for _ in range(4)))),
        norm(CallFunction(transposed, *head, *(Ignored() for _ in range(5)))),
        norm(CallFunction(aten.linear.default, *head)),
    ]


def _how(before: fx.Node) -> tuple[bool, int]:
    """(transposed, groups) of a convolution or a linear layer."""
    transposed = name_of(before) in _TRANSPOSED
    return transposed, before.args[6] if name_of(before) != "linear" else 1


def _why_not_norm(norm: fx.Node, training, mean, var, eps) -> str:
    if mean is None or var is None:
        return text("fusion.bn.no_statistics", node=norm.name)
    if training is not False:
        return text("fusion.bn.training", node=norm.name)
    return "" if isinstance(eps, float | int) else text("fusion.bn.unknown", node=norm.name)


def _finite(w, b, gamma, beta, mean, var, eps, before) -> bool:
    """Whether the folded numbers have room in the weight's type: by shapes alone nobody knows."""
    from labkit.device import only_shapes

    if only_shapes():
        return True
    folded = fold(w, b, gamma, beta, mean, var, eps, *_how(before))
    return all(bool(torch.isfinite(t).all()) for t in folded)


def _in_graph(graph: fx.Graph, tensors: tuple, eps: float, transposed: bool, groups: int, like=None) -> tuple:
    """fold() as nodes of the graph, with gradients for all its tensors."""
    inner = fx.Graph()
    tracer = fx.proxy.GraphAppendingTracer(inner)
    places = [t if t is None else inner.placeholder(f"t{i}") for i, t in enumerate(tensors)]
    like = value(tensors[0]) if like is None else like
    proxies = [p if p is None else fx.Proxy(p, tracer) for p in places]
    weight, bias = fold(*proxies, eps, transposed, groups, like)
    inner.output((weight.node, bias.node))
    made = graph.graph_copy(inner, {p: t for p, t in zip(places, tensors) if p is not None})
    made[0].meta["val"] = like
    made[1].meta["val"] = like.new_empty(like.shape[1] * groups if transposed else like.shape[0])
    return made


def _explain(graph: fx.Graph) -> Iterator[tuple[fx.Node, str]]:
    """(node, why) of each batch norm that is left in the graph."""
    for norm in graph.find_nodes(op="call_function", target=aten.batch_norm.default):
        x, _, _, mean, var, training, _, eps, _ = norm.args
        if why := _why_not_norm(norm, training, mean, var, eps):
            yield norm, why
            continue
        before = name_of(x) if isinstance(x, fx.Node) else ""
        if before not in (*_FORWARD, *_TRANSPOSED, "linear"):
            yield norm, text("fusion.bn.nothing_before", node=norm.name, before=getattr(x, "name", "?"))
        elif len(x.users) > 1:
            yield norm, text("fusion.bn.used", node=norm.name, before=x.name, users=len(x.users))
        else:
            yield norm, text("fusion.bn.changed_between", node=norm.name, before=x.name)
