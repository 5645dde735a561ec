"""Graphs as the passes and the analysis want them: operators of ATen with all their arguments, whoever wrote them.

Dynamo writes F.silu(x), x * y and x.mul(y); torch.export writes aten.silu.default(x). Patterns are written once, so one
spelling comes first. An operator that is not in the table stays as it is: then no pattern looks at it.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx
from torch.nn import functional as F

from labkit.messages import text

aten = torch.ops.aten


def value(node: Any) -> Any:
    """What is known of a node's result: a tensor without memory, a number; of what is no node, itself."""
    if not isinstance(node, fx.Node):
        return node
    return node.meta.get("val", node.meta.get("example_value"))


def is_tensor(node: Any) -> bool:
    return isinstance(value(node), torch.Tensor)


# ---- from a model


def capture(model: torch.nn.Module, example: Sequence, kwargs: dict | None = None, dynamic_shapes=None):
    """A model's graph by torch.export, with its parameters as attributes; a graph is taken as it is.

    The operators are those that eager mode calls, before autograd, so that rules may replace them by operators that
    bring their own backward. Raises RuntimeError where the model cannot be exported, with PyTorch's reason.
    """
    if isinstance(model, fx.GraphModule):
        return normalized(model)
    try:
        program = torch.export.export(
            model,
            tuple(example),
            kwargs,
            dynamic_shapes=dynamic_shapes,
            strict=False,
            prefer_deferred_runtime_asserts_over_guards=True,
        )
    except Exception as error:  # whatever the model does that a graph cannot hold
        raise RuntimeError(text("fusion.no_graph", why=str(error).strip().split("\n")[0])) from error
    return normalized(program.module(check_guards=False))


def normalized(module: fx.GraphModule) -> fx.GraphModule:
    """The same graph in one spelling, in place."""
    for node in list(module.graph.nodes):
        if node.op == "call_method" or (
            node.op == "call_function" and not isinstance(node.target, torch._ops.OpOverload)
        ):
            _respell(node)
        if node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload):
            _all_arguments(node)
    for node in list(module.graph.nodes):
        _leave_out(node)
    for node in list(module.graph.nodes):
        _out_of_place(node)
    module.graph.lint()
    module.recompile()
    return module


def _all_arguments(node: fx.Node) -> None:
    """Positional arguments as the schema has them, defaults filled in; keyword arguments where they say something."""
    args, kwargs = list(node.args), dict(node.kwargs)
    for i, a in enumerate(node.target._schema.arguments):
        if a.kwarg_only:
            if a.name in kwargs and a.has_default_value() and _same(kwargs[a.name], a.default_value):
                del kwargs[a.name]
        elif i >= len(args):
            if a.name in kwargs:
                args.append(kwargs.pop(a.name))
            elif a.has_default_value():
                args.append(a.default_value)
    node.args, node.kwargs = tuple(args), kwargs


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b


def _leave_out(node: fx.Node) -> None:
    """Takes out what gives its argument back as it is, and torch.export's notes of what it has seen."""
    if node.target is aten._assert_tensor_metadata.default:
        node.graph.erase_node(node)
        return
    if node.target is operator.getitem and not node.users:  # a result that eager mode forgets at once
        node.graph.erase_node(node)
        return
    x = node.args[0] if node.args else None
    if not isinstance(x, fx.Node):
        return
    same = node.target is aten.dropout.default and node.args[2] is False
    if node.target is aten.to.dtype and is_tensor(x):
        same = value(x).dtype == node.args[1] and not node.args[3] and node.args[4] is None
    if same:
        node.replace_all_uses_with(x)
        node.graph.erase_node(node)


# ---- the other spellings


def _binary(name: str) -> Callable:
    def spell(node: fx.Node, a, b, **rest):
        if rest or not is_tensor(a):
            return None
        number = isinstance(b, (int, float)) and not isinstance(b, bool)
        return (
            (getattr(aten, name).Tensor, (a, b)) if number or is_tensor(b) else None
        )  # a number too, as export has it

    return spell


def _turning(name: str) -> Callable:
    """A binary operator whose sides may change places: a number comes second."""

    def spell(node: fx.Node, a, b, **rest):
        return _binary(name)(node, *((b, a) if not is_tensor(a) else (a, b)), **rest)

    return spell


def _plain(overload) -> Callable:
    """A function with the arguments of the operator, in place where it says inplace=True."""

    def spell(node: fx.Node, *args, inplace: bool = False, **kwargs):
        return None if inplace else (overload, args, kwargs)

    return spell


def _with_inplace(overload, inplace_overload) -> Callable:
    def spell(node: fx.Node, x, *args, inplace: bool = False, **kwargs):
        if not args and not kwargs:
            return inplace_overload if inplace else overload, (x,)
        if len(args) == 1 and not kwargs and isinstance(args[0], bool):  # F.relu(x, True)
            return inplace_overload if args[0] else overload, (x,)
        return None

    return spell


def _batch_norm(node, x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    numbers = all(isinstance(v, (int, float)) for v in (momentum, eps)) and isinstance(training, bool)
    return (aten.batch_norm.default, (x, weight, bias, mean, var, training, momentum, eps, False)) if numbers else None


def _layer_norm(node, x, shape, weight=None, bias=None, eps=1e-5):
    return aten.layer_norm.default, (x, list(shape), weight, bias, eps, True)


def _rms_norm(node, x, shape, weight=None, eps=None):
    return aten.rms_norm.default, (x, list(shape), weight, eps)


def _softmax(node, x, dim=None, _stacklevel=3, dtype=None):
    return None if dim is None else (aten.softmax.int, (x, dim, dtype))


def _power(node, x, exponent):
    return (aten.pow.Tensor_Scalar, (x, exponent)) if isinstance(exponent, (int, float)) else None


def _mean(node, x, dim=None, keepdim=False):
    dims = [dim] if isinstance(dim, int) else dim
    return None if dims is None else (aten.mean.dim, (x, list(dims), keepdim))


def _to(node, x, dtype):
    return (aten.to.dtype, (x, dtype, False, False, None)) if isinstance(dtype, torch.dtype) else None


def _dropout(node, x, p=0.5, training=True, inplace=False):
    return (aten.dropout.default, (x, p, False)) if training is False and not inplace else None


def _convolution(overload) -> Callable:
    def spell(node, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if isinstance(padding, str):
            overload_ = getattr(getattr(aten, overload.name().split("::")[1].split(".")[0]), "padding")
            return overload_, (x, weight, bias, _list(stride), padding, _list(dilation), groups)
        return overload, (x, weight, bias, _list(stride), _list(padding), _list(dilation), groups)

    def _list(v):
        n = int(overload.name().split("conv")[1][0])
        return list(v) * (n if len(v) == 1 else 1) if isinstance(v, (tuple, list)) else [v] * n

    return spell


def _table() -> dict[Any, Callable]:
    table: dict[Any, Callable] = {
        F.batch_norm: _batch_norm,
        F.layer_norm: _layer_norm,
        F.softmax: _softmax,
        torch.softmax: lambda node, x, dim, dtype=None: (aten.softmax.int, (x, dim, dtype)),
        "softmax": lambda node, x, dim, dtype=None: (aten.softmax.int, (x, dim, dtype)),
        F.linear: _plain(aten.linear.default),
        torch._C._nn.linear: _plain(aten.linear.default),
        F.gelu: _plain(aten.gelu.default),
        torch._C._nn.gelu: _plain(aten.gelu.default),
        F.relu: _with_inplace(aten.relu.default, aten.relu_.default),
        F.silu: _with_inplace(aten.silu.default, aten.silu_.default),
        F.hardswish: _with_inplace(aten.hardswish.default, aten.hardswish_.default),
        torch.relu: _plain(aten.relu.default),
        torch.relu_: _plain(aten.relu_.default),
        "relu": _plain(aten.relu.default),
        torch.sigmoid: _plain(aten.sigmoid.default),
        F.sigmoid: _plain(aten.sigmoid.default),
        "sigmoid": _plain(aten.sigmoid.default),
        torch.tanh: _plain(aten.tanh.default),
        F.tanh: _plain(aten.tanh.default),
        "tanh": _plain(aten.tanh.default),
        torch.matmul: _plain(aten.matmul.default),
        operator.matmul: _plain(aten.matmul.default),
        "matmul": _plain(aten.matmul.default),
        torch.conv1d: _convolution(aten.conv1d.default),
        torch.conv2d: _convolution(aten.conv2d.default),
        torch.conv3d: _convolution(aten.conv3d.default),
    }
    for where in (F, torch):
        if hasattr(where, "rms_norm"):
            table[where.rms_norm] = _rms_norm
    table |= {
        torch.layer_norm: lambda node, x, shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True: _layer_norm(
            node, x, shape, weight, bias, eps
        ),
        torch.rsqrt: _plain(aten.rsqrt.default),
        "rsqrt": _plain(aten.rsqrt.default),
        "pow": _power,
        torch.pow: _power,
        operator.pow: _power,
        "mean": _mean,
        torch.mean: _mean,
        "to": _to,
        "float": lambda node, x: _to(node, x, torch.float32),
        "half": lambda node, x: _to(node, x, torch.float16),
        "transpose": _plain(aten.transpose.int),
        torch.transpose: _plain(aten.transpose.int),
        F.dropout: _dropout,
        torch.cat: lambda node, tensors, dim=0: (aten.cat.default, (list(tensors), dim)),
    }
    for name, spell in (("add", _turning), ("mul", _turning), ("sub", _binary), ("div", _binary)):
        functions = [getattr(torch, name), name, getattr(operator, "truediv" if name == "div" else name)]
        table |= {f: spell(name) for f in functions}
    table |= {torch.multiply: _turning("mul"), "multiply": _turning("mul")}
    return table


_TABLE = _table()


def _respell(node: fx.Node) -> None:
    if node.target is operator.getitem:
        return _slices(node)
    spell = _TABLE.get(node.target) if node.target.__hash__ else None
    if spell is None or not (is_tensor(node) or value(node) is None):
        return
    try:
        found = spell(node, *node.args, **node.kwargs)
    except TypeError:  # arguments that the table does not know: the node stays as it is
        return
    if found is None:
        return
    target, args, kwargs = (*found, {})[:3]
    known = {a.name for a in target._schema.arguments}
    if set(kwargs) <= known and len(args) <= len(target._schema.arguments):
        node.op, node.target, node.args, node.kwargs = "call_function", target, tuple(args), kwargs


def _slices(node: fx.Node) -> None:
    """x[..., 1::2, ::2] becomes a slice of a slice, as torch.export has it."""
    x, places = node.args
    places = places if isinstance(places, tuple) else (places,)
    if not is_tensor(x) or not all(p is Ellipsis or isinstance(p, slice) for p in places):
        return
    left = places.index(Ellipsis) if Ellipsis in places else len(places)
    numbers = [v for p in places if isinstance(p, slice) for v in (p.start, p.stop, p.step)]
    if places.count(Ellipsis) > 1 or any(isinstance(v, fx.Node) for v in numbers):
        return
    dims = [
        *enumerate(places[:left]),
        *((value(x).dim() - i, p) for i, p in enumerate(reversed(places[left + 1 :]), 1)),
    ]
    at = x
    with node.graph.inserting_before(node):
        for dim, p in sorted(dims, key=lambda pair: pair[0]):
            if p != slice(None):
                args = (at, dim, p.start or 0, sys.maxsize if p.stop is None else p.stop, p.step or 1)
                known = aten.slice.Tensor(value(at), *args[1:])
                at = node.graph.call_function(aten.slice.Tensor, args)
                at.meta |= {k: v for k, v in node.meta.items() if k not in ("val", "example_value")} | {"val": known}
    if at is not x:
        node.replace_all_uses_with(at)
        node.graph.erase_node(node)


# ---- what changes a tensor


def changes(node: fx.Node) -> bool:
    """Whether the node changes a tensor that was there before it, or what comes after it in another way (a mode)."""
    from torch._inductor.pattern_matcher import is_mutation_op

    if node.op == "call_function" and not isinstance(node.target, torch._ops.OpOverload):
        name = getattr(node.target, "__name__", "")
        if (
            node.kwargs.get("inplace")
            or node.target is operator.setitem
            or (
                name.startswith("i")
                and getattr(operator, name, None) is node.target
                and hasattr(operator, name[1:].rstrip("_"))
            )
        ):
            return True
    if node.op == "call_module":  # who knows what it does
        return True
    return node.op in ("call_function", "call_method") and is_mutation_op(node)


def sweep(graph: fx.Graph) -> None:
    """Takes out what nobody reads. Not what changes a tensor: torch.fx does not know that x.mul_(2), a method, does."""
    graph.eliminate_dead_code(is_impure_node=lambda node: node.is_impure() or changes(node))


def number_regions(graph: fx.Graph) -> None:
    """Gives each node the number of changes before it. PyTorch's matcher replaces nothing across two of them: between
    the first and the last node of a match no tensor changes, by whatever alias."""
    region = 0
    for node in graph.nodes:
        region += changes(node)
        node.meta["mutation_region_id"] = region


_OUT_OF_PLACE = {
    aten.relu_.default: aten.relu.default,
    aten.silu_.default: aten.silu.default,
    aten.hardswish_.default: aten.hardswish.default,
    aten.sigmoid_.default: aten.sigmoid.default,
    aten.tanh_.default: aten.tanh.default,
    aten.add_.Tensor: aten.add.Tensor,
    aten.mul_.Tensor: aten.mul.Tensor,
}


def _out_of_place(node: fx.Node) -> None:
    """relu_(x) becomes relu(x) where nobody can tell: x was made for it by an operator that makes new memory, nobody
    else reads x, and the types are the same."""
    made = node.args[0] if node.target in _OUT_OF_PLACE and node.args else None
    if not isinstance(made, fx.Node) or list(made.users) != [node] or not is_fresh(made):
        return
    out, was = value(node), value(made)
    if (
        isinstance(out, torch.Tensor)
        and isinstance(was, torch.Tensor)
        and (out.dtype, out.shape) == (was.dtype, was.shape)
    ):
        others = [value(a) for a in node.args[1:]]
        if all(not isinstance(o, torch.Tensor) or torch.result_type(was, o) == was.dtype for o in others):
            node.target = _OUT_OF_PLACE[node.target]


_FRESH = {
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution", "linear",
    "mm", "bmm", "addmm", "batch_norm", "layer_norm", "group_norm", "add", "sub", "mul", "div", "relu", "silu", "gelu",
    "sigmoid", "tanh", "hardswish", "softmax", "cat",
}  # fmt: skip


def is_fresh(node: fx.Node) -> bool:
    """Whether the node's result is memory of its own: no input, no parameter, no view. False where that is not sure."""
    return (
        node.op == "call_function"
        and isinstance(node.target, torch._ops.OpOverload)
        and not node.target._schema.is_mutable
        and name_of(node) in _FRESH
    )


def name_of(node: fx.Node) -> str:
    """The operator's name without namespace and overload: "conv2d"; "" for what is no operator."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return ""
    return node.target.name().split("::")[1].split(".")[0]
