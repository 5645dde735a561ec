"""PyTorch's reductions, and what is made of them, as steps of a tile program: of rows, or down columns."""

from __future__ import annotations

import math

from labkit.codegen import DOWN
from labkit.codegen.ir import Value, share
from labkit.fusion.graph import name_of, refuse

_LARGEST = (2 - 2.0**-23) * 2.0**127  # of float32


def dtype_of(dtype) -> str:
    """As labkit.codegen names it. Raises Refused."""
    known = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int32": "i32", "bool": "u8"}
    name = str(dtype).removeprefix("torch.")
    if name not in known:
        raise refuse("dtype", dtype=name)
    return known[name]


def computed(dtype) -> str:
    return {"f32": "f32", "f16": "f32", "bf16": "f32", "i32": "i32", "u8": "bits"}[dtype_of(dtype)]


class Reductions:
    """The part of Lowering that reduces. What has one element along all that is reduced is its own sum and maximum:
    then nothing is left to reduce."""

    def _reduce(self, op: str, x: Value, hint: str = "") -> Value:
        return self.b.reduce(op, x, hint) if self.traced.reduced else x

    def _row(self, node, whole: bool = False) -> Value:
        """What is reduced, in float. whole: int32 stays, where the unit can: down columns, or
        where there is nothing to do."""
        x = self.arg(node, 0)
        if not isinstance(x, Value):
            raise refuse("operator", name=f"aten.{name_of(node)} of a number", node=node.name)
        if (
            whole
            and (self.b.shape == DOWN or not self.traced.reduced)
            and x.dtype == "i32"
            and computed(node.meta["val"].dtype) == "i32"
        ):
            return x
        if (
            x.dtype == "i32"
            or computed(node.meta["val"].dtype if hasattr(node.meta["val"], "dtype") else node.meta["val"][0].dtype)
            != "f32"
        ):
            raise refuse("reduce_integers", node=node.name)
        x = self._as(x, "f32")
        return x

    def _covers(self, node, dims=None) -> None:
        """That the node's own axes are all the columns that there are."""
        axes = self.traced.axes[node.args[0]]
        own = {a for a in (axes if dims is None else [axes[d] for d in dims]) if a is not None}
        if own & set(self.traced.reduced) != set(self.traced.reduced):
            raise refuse("partly_reduced", node=node.name)

    def op_sum(self, node):
        x = self._row(node, whole=True)
        self._covers(node)
        return self._reduce("sum", x, "sum")

    def _share(self, correction: float = 0) -> str | float:
        if not self.traced.reduced:
            return 1 / (1 - correction) if correction < 1 else math.inf  # 0 times that: PyTorch's NaN
        return share(correction, self.b.shape)

    def op_mean(self, node):
        return self.b.scalar("muls", self.op_sum(node), self._share(), "mean")

    def op_amax(self, node):
        x = self._row(node, whole=True)
        self._covers(node)
        return self._reduce("max", x, "most")

    def op_amin(self, node):
        x = self._row(node, whole=True)
        self._covers(node)
        return self._reduce("min", x, "least")

    def _variance(self, x: Value, correction: float):
        mean = self.b.scalar("muls", self._reduce("sum", x), self._share(), "mean")
        apart = self.b.binary("sub", x, mean, "apart")
        squares = self._reduce("sum", self.b.binary("mul", apart, apart, "square"))
        return self.b.scalar("muls", squares, self._share(correction), "var"), mean, apart

    def op_var(self, node):
        self._covers(node)
        return self._variance(self._row(node), self._correction(node))[0]

    def op_var_mean(self, node):
        self._covers(node)
        return self._variance(self._row(node), self._correction(node))[:2]

    def _correction(self, node) -> int | float:
        """Mostly a whole number, but PyTorch takes any."""
        correction = node.kwargs.get("correction", 1)
        correction = 1 if correction is None else correction
        return int(correction) if correction == int(correction) else float(correction)

    def _exponentials(self, node):
        x = self._row(node)
        self._covers(node)
        apart = self.b.binary("sub", x, self._reduce("max", x, "most"), "apart")
        e = self.b.unary("exp", apart)
        return apart, e, self._reduce("sum", e)

    def op_logsumexp(self, node):
        x = self._row(node)
        self._covers(node)
        # within what is finite: inf - inf would make the logarithm of a row NaN that has inf, or -inf alone
        most = self.b.scalar("maxs", self.b.scalar("mins", self._reduce("max", x, "most"), _LARGEST), -_LARGEST)
        total = self._reduce("sum", self.b.unary("exp", self.b.binary("sub", x, most, "apart")))
        return self.b.binary("add", self.b.unary("ln", total, "log"), most, "logsumexp")

    def op_softmax(self, node):
        _, e, total = self._exponentials(node)
        return self.b.binary("div", e, total, "softmax")

    def op_log_softmax(self, node):
        apart, _, total = self._exponentials(node)
        return self.b.binary("sub", apart, self.b.unary("ln", total, "log"), "log_softmax")

    def _weighted(self, y: Value, *more):
        for op, value in zip(("mul", "add"), more):
            if value is not None:
                y = self.b.binary(op, y, value)
        return y

    def op_native_layer_norm(self, node):
        x = self._row(node)
        self._covers(node)
        var, mean, apart = self._variance(x, 0)
        rstd = self.two("div", 1.0, self.b.unary("sqrt", self.b.scalar("adds", var, node.args[4])))
        weight, bias = (None if node.args[i] is None else self._as(self.value[node.args[i]], "f32") for i in (2, 3))
        return self._weighted(self.b.binary("mul", apart, rstd), weight, bias), mean, rstd

    def op_fused_rms_norm(self, node):
        import torch

        x = self._row(node)
        self._covers(node)
        eps = (
            node.args[3]
            if len(node.args) > 3 and node.args[3] is not None
            else torch.finfo(torch.float32).eps  # of the type that PyTorch computes 16-bit types in
        )
        mean = self.b.scalar("muls", self._reduce("sum", self.b.binary("mul", x, x, "square")), self._share(), "mean")
        rstd = self.two("div", 1.0, self.b.unary("sqrt", self.b.scalar("adds", mean, eps)))
        weight = None if node.args[2] is None else self._as(self.value[node.args[2]], "f32")
        return self._weighted(self.b.binary("mul", x, rstd), weight), rstd
