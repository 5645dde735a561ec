"""A graph computed in double, with the roundings that its types ask for put in by hand.

Each result is computed in double from rounded numbers and rounded to the type that the graph gives it: this is what the
device does, but for the order of its sums. So one can leave out a single rounding, or add one, and see what that does
to the result; or draw errors of the size that roundings and sums may have, and see how far they carry.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import torch
from torch import fx

from labkit.fusion.spelling import aten, changes, is_tensor, name_of, value
from labkit.operators import operator

NARROW = (torch.float16, torch.bfloat16)
CONVOLUTIONS = ("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution")
PRODUCTS = ("linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "mv", "dot", "einsum", *CONVOLUTIONS)
REDUCTIONS = ("sum", "mean", "var", "cumsum", "logsumexp", "adaptive_avg_pool2d", "avg_pool2d", "embedding_bag")
NORMS = ("layer_norm", "rms_norm", "group_norm", "softmax", "_softmax", "log_softmax", "var_mean")
ATTENTION = "scaled_dot_product_attention"
# Operators of ours that have no CPU form, but say in their module what they compute: reference().
OURS = {"lab.conv_bn_act.default": "conv_bn_act"}
SUMS = (*PRODUCTS, *REDUCTIONS, *NORMS, ATTENTION)
CURVES = (
    "exp", "exp2", "expm1", "log", "log2", "log1p", "sqrt", "rsqrt", "reciprocal", "div", "pow", "sin", "cos",
    "tanh", "erf", "sigmoid", "silu", "gelu", "mish", "softplus", "elu", "hardswish", "hardsigmoid", "log_sigmoid",
    "atan", *NORMS, ATTENTION,
)  # fmt: skip


def place(dtype: torch.dtype) -> float:
    """What rounding to the type may be off, as a share of the number: half a unit in the last place."""
    return torch.finfo(dtype).eps / 2


def rounds(node: fx.Node) -> bool:
    """Whether the node makes new floating numbers, which are rounded to its type; a view or a choice makes none."""
    if node.op != "call_function" or not is_tensor(node) or not value(node).is_floating_point():
        return False
    return not _is_view(node) and name_of(node) not in (
        "cat",
        "stack",
        "where",
        "masked_fill",
        "relu",
        "clone",
        "neg",
        "roll",
        "flip",
    )


def _is_view(node: fx.Node) -> bool:
    target = node.target
    if name_of(node) in ("to", "type_as"):  # a view only where the type stays
        return value(node).dtype == getattr(value(node.args[0]), "dtype", None)
    if isinstance(target, torch._ops.OpOverload):
        return not changes(node) and any(r.alias_info is not None for r in target._schema.returns)
    return getattr(target, "__name__", "") == "getitem"


def narrow(nodes) -> list[fx.Node]:
    return [n for n in nodes if rounds(n) and value(n).dtype in NARROW]


def sum_length(node: fx.Node) -> int:
    """How many terms are added up for one element of the result; 1 where there is no sum."""
    name = name_of(node)
    if name not in SUMS or not node.args:
        return 1
    first = value(node.args[0])
    if name in CONVOLUTIONS:
        weight = value(node.args[1])
        over = weight.shape[0] if "transpose" in name else weight.shape[1]
        return int(over * math.prod(weight.shape[2:]))
    if name == ATTENTION:
        return int(first.shape[-1] + value(node.args[1]).shape[-2])
    if name in ("addmm", "baddbmm"):
        return int(value(node.args[1]).shape[-1])
    if not isinstance(first, torch.Tensor):
        return 1
    if name in PRODUCTS or name in NORMS:
        return int(first.shape[-1]) if first.dim() else 1
    out = value(node)
    out = out[0] if isinstance(out, (tuple, list)) else out
    return max(1, int(first.numel() // max(1, out.numel()))) if isinstance(out, torch.Tensor) else 1


class Rounded(fx.Interpreter):
    """kept: nodes that are not rounded; more: node -> a narrower type that it is rounded to besides; exact: nothing is
    rounded; draw: a generator, then errors as large as those of the roundings (and of the sums) are drawn instead;
    orders: only those of sums are, and the roundings stay. watch: called with (node, result)."""

    def __init__(
        self,
        module: fx.GraphModule,
        kept: Collection[fx.Node] = (),
        more: dict[fx.Node, torch.dtype] | None = None,
        *,
        exact: bool = False,
        draw: torch.Generator | None = None,
        orders: bool = False,
        coarse: Collection[str] = (),
        watch=None,
    ):
        super().__init__(module)
        self.kept, self.more, self.exact, self.generator, self.orders = set(kept), more or {}, exact, draw, orders
        self.coarse, self.watch = set(coarse), watch

    def go(self, inputs: Sequence) -> list[torch.Tensor]:
        """Its results in double, those that are tensors."""
        from torch.utils._pytree import tree_leaves

        with torch.no_grad():
            made = self.run(*[_double(t) for t in inputs], enable_io_processing=False)
        return [t for t in tree_leaves(made) if isinstance(t, torch.Tensor)]

    def fetch_attr(self, target: str):
        found = _double(super().fetch_attr(target))
        if target in self.coarse and self.generator is not None:
            found = found + found.abs() * place(torch.float16) * self._signs(found)
        return found

    def run_node(self, node: fx.Node):
        made = super().run_node(node)
        if node.op == "call_function":
            made = self._stored(node, made)
        if self.watch is not None:
            self.watch(node, made)
        return made

    def call_function(self, target, args, kwargs):
        wide = {torch.float16, torch.bfloat16, torch.float32}

        def put(a):
            if isinstance(a, torch.dtype):
                return torch.float64 if a in wide else a
            return torch.device("cpu") if isinstance(a, torch.device) else a

        args, kwargs = fx.node.map_aggregate(args, put), fx.node.map_aggregate(kwargs, put)
        if (name := str(target)) in OURS:
            target = operator(OURS[name]).reference
        return super().call_function(target, args, kwargs)

    def _stored(self, node: fx.Node, made):
        known = value(node)
        if self.exact or not rounds(node) or not isinstance(made, torch.Tensor):
            return made
        result = made
        if self.generator is not None:
            result = result + self._sum_error(node, result)
        if self.generator is not None and not self.orders:
            least = torch.finfo(known.dtype).tiny
            result = result + place(known.dtype) * result.abs().clamp(min=least) * self._signs(result)
        elif node not in self.kept:
            result = result.to(known.dtype).double()
        if node in self.more:
            result = result.to(self.more[node]).double()
        if changes(node):  # who reads it by another name must see it
            return made.copy_(result)
        return result

    def _signs(self, like: torch.Tensor) -> torch.Tensor:
        return torch.rand(like.shape, generator=self.generator, dtype=torch.float64) * 2 - 1

    def _sum_error(self, node: fx.Node, result: torch.Tensor) -> torch.Tensor:
        """Of a sum of n terms: sqrt(n) places of all its terms together, in the type that it is kept in."""
        kept_in = torch.float64 if value(node).dtype == torch.float64 else torch.float32
        terms, n = self._terms(node, result), max(4, sum_length(node))
        if name_of(node) == ATTENTION and value(node).dtype in NARROW:  # shares are rounded before they meet v
            return (math.sqrt(n) * place(kept_in) + place(value(node).dtype)) * terms * self._signs(result)
        return math.sqrt(n) * place(kept_in) * terms * self._signs(result)

    def _terms(self, node: fx.Node, result: torch.Tensor) -> torch.Tensor:
        """The sizes of all that is added up in each element."""
        name = name_of(node)
        args, kwargs = self.fetch_args_kwargs_from_env(node)
        if name in PRODUCTS or name in ("sum", "mean", "add", "sub"):
            sizes = fx.node.map_aggregate(args, lambda a: a.abs() if isinstance(a, torch.Tensor) else a)
            target = aten.add.Tensor if name == "sub" else node.target
            if name == "add" and changes(node):
                target = aten.add.Tensor
            try:
                return Rounded.call_function(self, target, sizes, kwargs).abs()
            except (RuntimeError, TypeError):
                return result.abs()
        if name in ("layer_norm", "group_norm") and args[0].numel():  # x - mean may cancel
            middle = args[0].mean(-1, keepdim=True)
            spread = (args[0] - middle).square().mean(-1, keepdim=True).sqrt().clamp(min=1e-3)
            return result.abs() + middle.abs() / spread
        if name == "batch_norm" and not args[5]:
            x, gamma, beta, mean, var = args[:5]
            shape = [1, -1] + [1] * (x.dim() - 2)
            scale = torch.rsqrt(var + args[7]) * (1 if gamma is None else gamma.abs())
            sizes = (x.abs() + mean.abs().reshape(shape)) * scale.reshape(shape)
            return sizes + (0 if beta is None else beta.abs().reshape(shape))
        if name == ATTENTION:
            q, k, v = args[:3]
            scale = kwargs.get("scale") or 1 / math.sqrt(q.shape[-1])
            return self._attention(args, kwargs, v) * (1 + float((q.abs() @ k.abs().mT).max()) * scale)
        return result.abs()

    @staticmethod
    def _attention(args, kwargs, v) -> torch.Tensor:
        return aten.scaled_dot_product_attention.default(*args[:2], v.abs(), *args[3:], **kwargs)


def _double(t):
    if not isinstance(t, torch.Tensor):
        return t
    t = t.detach().cpu()
    return t.double() if t.is_floating_point() else t.clone()
