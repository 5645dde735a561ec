"""The rules of this lab: parts of a graph for which there is one operator.

lab::swiglu, lab::rms_norm, lab::bias_gelu, lab::swiglu_linear are kernels of this lab (kernels/), npu_add_rms_norm and
npu_add_layer_norm are torch_npu's; each brings its own backward. lab::conv_bn_act has none: convolution.py. Attention
and Focus become other operators of PyTorch, on every device.
"""

from __future__ import annotations

import sys

import torch
from torch import fx

from labkit.fusion import convolution
from labkit.fusion.passes import Rule, call, only_positional
from labkit.fusion.rule_parts import item, rows_of, tensors_of
from labkit.fusion.rules_fused import FUSED
from labkit.fusion.spelling import aten, value
from labkit.messages import text
from labkit.operators import availability, operator

SOURCES = {
    "rms_norm": "kernels/rms_norm/rms_norm_torch.asc",
    "bias_gelu": "kernels/bias_gelu/bias_gelu_torch.asc",
    "swiglu": "kernels/swiglu/swiglu_torch.asc",
    "swiglu_linear": "kernels/swiglu_linear/swiglu_linear_torch.asc",
}


def missing(op: str) -> str:
    """ "" when torch.ops.lab.<op> can be called on npu, which the first call builds; else why not, in a line."""
    return availability.missing(op, SOURCES[op])


# ---- swiglu


def _swiglu_patterns(activated=None) -> list:
    from torch._inductor.pattern_matcher import CallFunction, KeywordArg

    silu = CallFunction(aten.silu.default, KeywordArg("gate"))
    return [
        CallFunction(aten.mul.Tensor, silu, KeywordArg("up")),
        CallFunction(aten.mul.Tensor, KeywordArg("up"), silu),
    ]


def _why_not_swiglu(match, gate, up) -> str:
    return operator("swiglu").why_not(value(gate), value(up))


def _swiglu(match, gate, up) -> fx.Node:
    return call(match.output_node().graph, torch.ops.lab.swiglu.default, gate, up)


def _left_silu(graph: fx.Graph):
    for node in graph.find_nodes(op="call_function", target=aten.silu.default):
        products = [u for u in node.users if u.target is aten.mul.Tensor]
        if products and len(node.users) > 1:
            yield products[0], text("swiglu.left.used")


# ---- swiglu with its projections


def _swiglu_linear_patterns() -> list:
    from torch._inductor.pattern_matcher import CallFunction, KeywordArg

    gate = CallFunction(aten.linear.default, KeywordArg("x"), KeywordArg("w_gate"), None)
    up = CallFunction(aten.linear.default, KeywordArg("x"), KeywordArg("w_up"), None)
    silu = CallFunction(aten.silu.default, gate)
    return [CallFunction(aten.mul.Tensor, silu, up), CallFunction(aten.mul.Tensor, up, silu)]


def _why_not_swiglu_linear(match, x, w_gate, w_up) -> str:
    tensors = tensors_of(x, w_gate, w_up)
    if tensors is None:
        return text("swiglu.left.number")
    longest = operator("swiglu").LONGEST
    if tensors[1].shape != tensors[2].shape or max(tensors[1].shape) > longest:
        return text("fusion.left.weights", longest=longest)
    if not all(w.is_contiguous() for w in tensors[1:]):
        return text("fusion.left.weights", longest=longest)
    return rows_of(*tensors) or missing("swiglu_linear")


def _swiglu_linear(match, x, w_gate, w_up) -> fx.Node:
    return call(match.output_node().graph, torch.ops.lab.swiglu_linear.default, x, w_gate, w_up)


# ---- rms norm: PyTorch's operator, and the parts that LLaMA's module is made of


def _rms_norm_patterns() -> list:
    from torch._inductor.pattern_matcher import CallFunction, Ignored, KeywordArg

    x, weight, eps = KeywordArg("x"), KeywordArg("weight"), KeywordArg("eps")
    whole = CallFunction(aten.rms_norm.default, x, KeywordArg("shape"), weight, eps)
    found = [whole]
    for cast in (True, False):
        wide = CallFunction(aten.to.dtype, x, torch.float32, False, False, Ignored(), _users=2) if cast else x
        square = CallFunction(aten.pow.Tensor_Scalar, wide, 2)
        mean = CallFunction(aten.mean.dim, square, [-1], True)
        rstd = CallFunction(aten.rsqrt.default, CallFunction(aten.add.Tensor, mean, eps))
        normal = CallFunction(aten.mul.Tensor, wide, rstd)
        back = CallFunction(aten.to.dtype, normal, Ignored(), False, False, Ignored()) if cast else normal
        found += [CallFunction(aten.mul.Tensor, weight, back), CallFunction(aten.mul.Tensor, back, weight)]
    return found


def _why_not_rms_norm(match, x, weight, eps, shape=None) -> str:
    tensors = tensors_of(x, weight)
    if tensors is None:
        return text("fusion.left.no_weight")
    if any(n.kwargs for n in match.nodes if n.target is aten.mean.dim) or not isinstance(eps, (int, float, type(None))):
        return text("fusion.left.arguments", node=match.output_node().name)
    if tensors[1].dim() != 1 or tensors[1].shape[0] != tensors[0].shape[-1] or (shape and len(shape) != 1):
        return text("fusion.left.width", shape=tuple(tensors[1].shape))
    out = value(match.output_node())
    if out is not None and out.dtype != tensors[0].dtype:
        return text("fusion.left.types", types=f"{tensors[0].dtype}, {out.dtype}".replace("torch.", ""))
    return rows_of(*tensors) or missing("rms_norm")


def _default_eps(dtype: torch.dtype) -> float:
    """PyTorch's, of the type that it computes in: of float32 for the 16-bit types too."""
    return torch.finfo(torch.float32 if dtype.itemsize == 2 else dtype).eps


def _rms_norm(match, x, weight, eps, shape=None) -> fx.Node:
    graph, dtype = match.output_node().graph, value(x).dtype
    eps = _default_eps(dtype) if eps is None else eps
    both = call(graph, torch.ops.lab.rms_norm.default, x, weight, float(eps))
    return item(graph, both, 0)


# ---- a residual and the norm behind it, by torch_npu's operators


def _add_norm_patterns(kind: str) -> list:
    from torch._inductor.pattern_matcher import MULTIPLE, CallFunction, Ignored, KeywordArg

    total = CallFunction(aten.add.Tensor, KeywordArg("x"), KeywordArg("residual"), _users=MULTIPLE)
    shape, weight, eps = KeywordArg("shape"), KeywordArg("weight"), KeywordArg("eps")
    if kind == "rms_norm":
        return [CallFunction(aten.rms_norm.default, total, shape, weight, eps)]
    return [CallFunction(aten.layer_norm.default, total, shape, weight, KeywordArg("bias"), eps, Ignored())]


def _why_not_add_norm(match, x, residual, shape, weight, eps, bias=None) -> str:
    given = (x, residual, weight) if bias is None else (x, residual, weight, bias)
    tensors = tensors_of(*given)
    if tensors is None or (match.output_node().target is aten.layer_norm.default and bias is None):
        return text("fusion.left.no_weight")
    total = next(n for n in match.nodes if n.target is aten.add.Tensor)
    if not only_positional(match) or not isinstance(eps, (int, float, type(None))):
        return text("fusion.left.arguments", node=total.name)
    if tensors[0].shape != tensors[1].shape:
        return text("fusion.left.broadcast", shapes=f"{tuple(tensors[0].shape)}, {tuple(tensors[1].shape)}")
    # the sum is an output of the operator: whoever reads it must come behind it
    place = {n: i for i, n in enumerate(total.graph.nodes)}
    if any(place[n] > place[total] for n in given if isinstance(n, fx.Node)):
        return text("fusion.left.arguments", node=total.name)
    return rows_of(*tensors)


def _add_norm(match, x, residual, shape, weight, eps, bias=None) -> fx.Node:
    total = next(n for n in match.nodes if n.target is aten.add.Tensor)
    graph = total.graph
    with graph.inserting_before(total):
        if bias is None:
            _registered("npu_add_rms_norm")
            eps = _default_eps(value(x).dtype) if eps is None else eps
            made = call(graph, torch.ops.npu.npu_add_rms_norm.default, x, residual, weight, float(eps))
            normal, both = item(graph, made, 0), item(graph, made, 2)
        else:
            _registered("npu_add_layer_norm")
            made = call(graph, torch.ops.npu.npu_add_layer_norm.default, x, residual, weight, bias, float(eps), True)
            normal, both = item(graph, made, 0), item(graph, made, 3)
    total.replace_all_uses_with(both)
    match.output_node().args = (both, *match.output_node().args[1:])
    return normal


def _registered(name: str) -> None:
    import torch_npu

    getattr(torch_npu, name)


# ---- bias and gelu


def _bias_gelu_patterns() -> list:
    from torch._inductor.pattern_matcher import CallFunction, KeywordArg

    sums = CallFunction(aten.add.Tensor, KeywordArg("x"), KeywordArg("bias"))
    return [CallFunction(aten.gelu.default, sums, approximate="tanh")]


def _why_not_bias_gelu(match, x, bias) -> str:
    tensors = tensors_of(x, bias)
    if tensors is None or any(n.kwargs for n in match.nodes if n.target is aten.add.Tensor):
        return text("fusion.left.arguments", node=match.output_node().name)
    if tensors[1].dim() != 1 or not tensors[0].dim() or tensors[1].shape[0] != tensors[0].shape[-1]:
        return text("fusion.left.width", shape=tuple(tensors[1].shape))
    return rows_of(*tensors) or missing("bias_gelu")


def _bias_gelu(match, x, bias) -> fx.Node:
    return call(match.output_node().graph, torch.ops.lab.bias_gelu.default, x, bias)


# ---- attention: softmax(q k^T * scale) v


def _attention_patterns() -> list:
    from torch._inductor.pattern_matcher import CallFunction, Ignored, KeywordArg

    scores = CallFunction(aten.matmul.default, KeywordArg("q"), KeywordArg("turned"))
    found = []
    for scaled in (
        CallFunction(aten.mul.Tensor, scores, KeywordArg("times")),
        CallFunction(aten.div.Tensor, scores, KeywordArg("by")),
        scores,
    ):
        plain = CallFunction(aten.softmax.int, scaled, -1, Ignored())
        cast = CallFunction(aten.to.dtype, plain, Ignored(), False, False, Ignored())
        for shares in (plain, cast):
            found.append(CallFunction(aten.matmul.default, shares, KeywordArg("v")))
    return found


def _why_not_attention(match, q, turned, v, times=1.0, by=1.0) -> str:
    tensors = tensors_of(q, turned, v)
    numbers = all(isinstance(n, (int, float)) for n in (times, by))
    if tensors is None or not numbers or by == 0 or {t.dim() for t in tensors} != {4}:
        return text("fusion.left.arguments", node=match.output_node().name)
    if len({t.dtype for t in tensors}) > 1 or value(match.output_node()).dtype != tensors[0].dtype:
        return text("fusion.left.types", types=", ".join(sorted({str(t.dtype) for t in tensors})))
    q_, k_, v_ = tensors
    if not (q_.shape[:2] == k_.shape[:2] == v_.shape[:2]):
        return text("fusion.left.broadcast", shapes=", ".join(str(tuple(t.shape)) for t in tensors))
    return ""


def _attention(match, q, turned, v, times=1.0, by=1.0) -> fx.Node:
    graph = match.output_node().graph
    key = call(graph, aten.transpose.int, turned, -2, -1)
    return call(graph, aten.scaled_dot_product_attention.default, q, key, v, scale=float(times) / float(by))


# ---- focus: four slices side by side and a convolution are one convolution with every second place


def _focus_patterns() -> list:
    from torch._inductor.pattern_matcher import CallFunction, Ignored, KeywordArg, ListOf  # noqa: F401

    def part(row: int, column: int):
        def sliced(of, dim: int, start: int):
            return CallFunction(aten.slice.Tensor, of, dim, start, Ignored(), 2)  # the end: _why_not_focus

        # x[..., r::2, c::2] is a slice of a slice; dimensions that are taken whole are not sliced
        return sliced(sliced(KeywordArg("x"), 2, row), 3, column)

    parts = [part(0, 0), part(1, 0), part(0, 1), part(1, 1)]
    cat = CallFunction(aten.cat.default, parts, 1)
    names = ("weight", "bias", "stride", "padding", "dilation", "groups")
    return [CallFunction(aten.conv2d.default, cat, *map(KeywordArg, names))]


def _why_not_focus(match, x, weight, bias, stride, padding, dilation, groups) -> str:
    tensors = tensors_of(x, weight)
    if tensors is None or tensors[0].dim() != 4:
        return text("fusion.left.arguments", node=match.output_node().name)
    if list(stride) != [1, 1] or list(dilation) != [1, 1] or groups != 1:
        return text("fusion.left.arguments", node=match.output_node().name)
    image = tensors[0].shape
    if not all(_to_the_end(n.args[3], image[n.args[1]]) for n in match.nodes if n.target is aten.slice.Tensor):
        return text("fusion.left.focus_part", node=match.output_node().name)
    return "" if all(map(_even, image[-2:])) else text("fusion.left.odd", shape=tuple(image))


def _to_the_end(end, side: int | torch.SymInt) -> bool:
    """Of a slice. x[::2] has no end of its own, which is the greatest number that there is."""
    return isinstance(end, int) and (end == sys.maxsize or (isinstance(side, int) and end >= side))


def _even(n: int | torch.SymInt) -> bool:
    """Of a symbol too: where Dynamo listens, asking makes it a guard; in a finished graph it must be known."""
    if isinstance(n, int):
        return n % 2 == 0
    from torch.fx.experimental.symbolic_shapes import statically_known_true

    return bool(n % 2 == 0) if torch._guards.TracingContext.try_get() else statically_known_true(n % 2 == 0)


def _focus(match, x, weight, bias, stride, padding, dilation, groups) -> fx.Node:
    graph, w = match.output_node().graph, value(weight)
    out, kh, kw, c = w.shape[0], w.shape[2], w.shape[3], w.shape[1] // 4
    # weight [out, (column, row, c), kh, kw] becomes [out, c, (kh, row), (kw, column)]
    parts = call(graph, aten.reshape.default, weight, [out, 2, 2, c, kh, kw])
    order = call(graph, aten.permute.default, parts, [0, 3, 4, 2, 5, 1])
    wide = call(graph, aten.reshape.default, order, [out, c, 2 * kh, 2 * kw])
    return call(graph, aten.conv2d.default, x, wide, bias, [2, 2], [2 * p for p in padding], [1, 1], 1)


# ---- all of them


_RULES = (
    Rule("focus_conv", _focus_patterns, _why_not_focus, _focus),
    Rule("attention", _attention_patterns, _why_not_attention, _attention),
    Rule("swiglu_linear", _swiglu_linear_patterns, _why_not_swiglu_linear, _swiglu_linear, needs=("npu",)),
    Rule("swiglu", _swiglu_patterns, _why_not_swiglu, _swiglu, needs=("npu",), explain=_left_silu),
    Rule(
        "add_rms_norm",
        lambda: _add_norm_patterns("rms_norm"),
        _why_not_add_norm,
        _add_norm,
        needs=("npu",),
        can_be_wide=False,
    ),
    Rule(
        "add_layer_norm",
        lambda: _add_norm_patterns("layer_norm"),
        _why_not_add_norm,
        _add_norm,
        needs=("npu",),
        can_be_wide=False,
    ),
    Rule("rms_norm", _rms_norm_patterns, _why_not_rms_norm, _rms_norm, needs=("npu",)),
    Rule("bias_gelu", _bias_gelu_patterns, _why_not_bias_gelu, _bias_gelu, needs=("npu",)),
    convolution.RULE,  # behind focus_conv, whose convolution it takes too
    *FUSED,
)
RULES = {rule.name: rule for rule in _RULES}
# swiglu_linear is chosen by name: at few rows its later start costs what its fewer launches save (kernels/README.md,
# the table of SwiGLU with its projections)
DEFAULT = tuple(name for name in RULES if name != "swiglu_linear")
