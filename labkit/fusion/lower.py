"""PyTorch's operators as steps of a tile program. How far its formulas are off: labkit.fusion.formulas."""

from __future__ import annotations

import math
import operator

from labkit.codegen import DOWN, ROW, Builder, Program, Tensor
from labkit.codegen.ir import COMPARE, FULL, Value
from labkit.fusion.graph import CONSTANTS, SAME, TURNED, VIEWS, Traced, name_of, refuse
from labkit.fusion.lower_rows import Reductions, computed, dtype_of
from labkit.fusion.space import Space, output_name

# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: erfc to 1.5e-7
ERF_P = 0.3275911
ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)


class Lowering(Reductions):
    """One program for one space. rounding: "once" rounds where a result is stored, "every" after each operator that
    gives a 16-bit type, as eager PyTorch does."""

    def __init__(self, traced: Traced, space: Space, name: str, title: str, shape: str, rounding: str):
        self.traced, self.space, self.rounding = traced, space, rounding
        self.b = Builder(name, title, shape)
        self.value: dict = {}
        self.tensors: dict[str, Tensor] = {}

    def program(self) -> Program:
        given = dict(zip(self.traced.names, self.traced.placeholders))
        for o in self.space.inputs:
            node = given[o.name]
            self.tensors[o.name] = Tensor(o.name, dtype_of(node.meta["val"].dtype), o.kind, o.batched)
            self.b.note = ""
            self.value[node] = self.b.load(self.tensors[o.name])
        for node in self.traced.graph.graph.nodes:
            if node.op == "get_attr":
                self.value[node] = getattr(self.traced.graph, node.target).item()
            elif node.op == "call_function":
                self._call(node)
        self.b.note = ""
        for i, (o, node) in enumerate(zip(self.space.outputs, self.traced.outputs)):
            value = self.value[node]
            if not isinstance(value, Value):
                raise refuse("constant_output", name=output_name(self.traced, i))
            tensor = Tensor(o.name, dtype_of(node.meta["val"].dtype), self._stored(o.kind), o.batched)
            self.tensors[o.name] = tensor
            self.b.store(tensor, self._as(value, computed(node.meta["val"].dtype)))
        return self.b.done()

    def _stored(self, kind: str) -> str:
        return FULL if kind == FULL else ROW if self.b.shape == DOWN else "column"

    # ---- nodes

    def _call(self, node) -> None:
        name = name_of(node)
        if name == "getitem":
            self.value[node] = self.value[node.args[0]][node.args[1]]
            return
        self.b.note = describe(node)
        handler = getattr(self, f"op_{name.strip('_')}", None)
        if name in VIEWS or name in TURNED or name == "expand":
            value = self.value[node.args[0]]
        elif name in SAME:
            value = self._cast(node)
        elif name in CONSTANTS:
            value = self._constant(node, name)
        elif handler is not None:
            value = handler(node)
        else:
            raise refuse("operator", name=f"aten.{name}", node=node.name)
        dtype = getattr(node.meta["val"], "dtype", None)
        if self.rounding == "every" and isinstance(value, Value) and value.dtype == "f32" and dtype is not None:
            if dtype_of(dtype) in ("f16", "bf16") and name not in VIEWS | TURNED:
                value = self.b.rounded(value, dtype_of(dtype))
        self.value[node] = value

    def arg(self, node, i: int):
        """An argument: a Value, or a number."""
        given = node.args[i]
        return self.value[given] if hasattr(given, "meta") else given

    def _setting(self, node, i: int, name: str, default):
        """A number that may be left out, or be given by its name."""
        return node.args[i] if len(node.args) > i else node.kwargs.get(name, default)

    def _as(self, value, dtype: str):
        if isinstance(value, Value) and value.dtype != dtype:
            return self.b.cast(value, dtype)
        return value

    def _operands(self, node, count: int = 2, dtype: str | None = None) -> list:
        dtype = dtype or computed(node.meta["val"].dtype)
        return [self._as(self.arg(node, i), dtype) for i in range(count)]

    def _constant(self, node, name: str):
        if name in ("full", "full_like"):
            number, dtype = node.args[1], node.meta["val"].dtype
            return number if dtype.is_floating_point else of_type(number, dtype)
        return node.args[0] if name == "scalar_tensor" else 1 if name.startswith("ones") else 0

    def _cast(self, node):
        value, dtype = self.value[node.args[0]], node.meta["val"].dtype
        return self._as(value, computed(dtype)) if isinstance(value, Value) else of_type(value, dtype)

    # ---- arithmetic; numbers on both sides are folded

    def two(self, op: str, a, b):
        if not isinstance(a, Value) and not isinstance(b, Value):
            return {
                "add": lambda: a + b,
                "sub": lambda: a - b,
                "mul": lambda: a * b,
                "div": lambda: a / b,
                "max": lambda: max(a, b),
                "min": lambda: min(a, b),
            }[op]()
        made = self.b
        if isinstance(a, Value) and isinstance(b, Value):
            return made.binary(op, a, b)
        if op in ("add", "mul", "max", "min"):
            value, number = (a, b) if isinstance(a, Value) else (b, a)
            return made.scalar({"add": "adds", "mul": "muls", "max": "maxs", "min": "mins"}[op], value, number, op)
        if isinstance(a, Value):
            if op == "sub":
                return made.scalar("adds", a, -b, "sub")
            half, exponent = math.frexp(b)
            power = half == 0.5 and -126 < exponent <= 127  # then 1 / b is exact, and a normal number of float32
            return made.scalar("muls", a, 1.0 / b, "div") if power else made.binary("div", a, made.fill(a, b))
        if op == "sub":
            return made.scalar("adds", made.scalar("muls", b, -1 if b.dtype == "i32" else -1.0, "neg"), a, "rsub")
        return made.binary("div", made.fill(b, a), b)

    def op_add(self, node, op="add"):
        if computed(node.meta["val"].dtype) == "bits":
            return self._both(node, "or")
        a, b = self._operands(node)
        alpha = node.kwargs.get("alpha", 1)
        return self.two(op, a, b if alpha == 1 else self.two("mul", b, alpha))

    def op_sub(self, node):
        return self.op_add(node, "sub")

    def op_rsub(self, node):
        (a, b), alpha = self._operands(node), self._setting(node, 2, "alpha", 1)
        return self.two("sub", b, a if alpha == 1 else self.two("mul", a, alpha))

    def op_mul(self, node):
        if computed(node.meta["val"].dtype) == "bits":
            return self._both(node, "and")
        return self.two("mul", *self._operands(node))

    def _both(self, node, op: str) -> Value:
        """Of two conditions."""
        a, b = self._operands(node)
        if not isinstance(a, Value) or not isinstance(b, Value):
            raise refuse("operator", name=f"aten.{name_of(node)} with a number", node=node.name)
        return self.b.logic(op, a, b)

    def op_div(self, node):
        if node.kwargs.get("rounding_mode"):
            raise refuse("operator", name="aten.div with rounding_mode", node=node.name)
        return self.two("div", *self._operands(node))

    def op_maximum(self, node):
        if computed(node.meta["val"].dtype) == "bits":
            return self._both(node, "or")
        return self.two("max", *self._operands(node))

    def op_minimum(self, node):
        if computed(node.meta["val"].dtype) == "bits":
            return self._both(node, "and")
        return self.two("min", *self._operands(node))

    def op_neg(self, node):
        (x,) = self._operands(node, 1)
        return self.two("mul", x, -1 if x.dtype == "i32" else -1.0)

    def op_abs(self, node):
        (x,) = self._operands(node, 1)
        return self.b.unary("abs", x) if x.dtype == "f32" else self.b.binary("max", x, self.b.scalar("muls", x, -1))

    def op_relu(self, node):
        (x,) = self._operands(node, 1)
        return self.two("max", x, 0 if x.dtype == "i32" else 0.0)

    def op_clamp(self, node):
        x = self._operands(node, 1)[0]
        low, high = (self.arg(node, i) if len(node.args) > i else None for i in (1, 2))
        x = x if low is None else self.two("max", x, low)
        return x if high is None else self.two("min", x, high)

    op_clamp_min = op_clamp

    def op_hardtanh(self, node):
        low, high = self._setting(node, 1, "min_val", -1), self._setting(node, 2, "max_val", 1)
        return self.two("min", self.two("max", *self._operands(node, 1), low), high)

    def op_clamp_max(self, node):
        return self.two("min", self._operands(node, 1)[0], self.arg(node, 1))

    def op_leaky_relu(self, node):
        x, slope = self._operands(node, 1)[0], node.args[1] if len(node.args) > 1 else 0.01
        if 0 <= slope <= 1:
            return self.b.binary("max", x, self.b.scalar("muls", x, slope))
        return self.b.select(self.b.compare("GT", x, 0.0), x, self.b.scalar("muls", x, slope))

    # ---- functions

    def op_exp(self, node):
        return self.b.unary("exp", *self._operands(node, 1))

    def op_log(self, node):
        return self.b.unary("ln", *self._operands(node, 1), "log")

    def op_sqrt(self, node):
        return self.b.unary("sqrt", *self._operands(node, 1))

    def op_rsqrt(self, node):
        return self.two("div", 1.0, self.op_sqrt(node))

    def op_reciprocal(self, node):
        return self.two("div", 1.0, *self._operands(node, 1))

    def op_square(self, node):
        (x,) = self._operands(node, 1)
        return self.b.binary("mul", x, x, "square")

    def op_pow(self, node):
        x, n = self._operands(node)
        if isinstance(n, Value) or not isinstance(x, Value) or n not in (-2, -1, -0.5, 0.5, 1, 2, 3, 4):
            raise refuse("power", node=node.name, power=n if not isinstance(n, Value) else "a tensor")
        m = abs(n)
        square = self.b.binary("mul", x, x, "square") if m >= 2 else x
        made = {
            0.5: lambda: self.b.unary("sqrt", x),
            1: lambda: x,
            2: lambda: square,
            3: lambda: self.b.binary("mul", square, x),
            4: lambda: self.b.binary("mul", square, square),
        }[m]()
        return made if n > 0 else self.two("div", 1.0, made)

    def _one_plus_exp(self, x: Value, scale: float) -> Value:
        return self.b.scalar("adds", self.b.unary("exp", self.b.scalar("muls", x, scale, "neg")), 1.0)

    def op_sigmoid(self, node):
        return self.two("div", 1.0, self._one_plus_exp(*self._operands(node, 1), -1.0))

    def op_silu(self, node):
        (x,) = self._operands(node, 1)
        return self.b.binary("div", x, self._one_plus_exp(x, -1.0), "silu")

    def op_tanh(self, node):
        """1 - 2 / (exp(2x) + 1): right to 1e-7, not to 1e-7 of itself near 0."""
        (x,) = self._operands(node, 1)
        return self.b.scalar("adds", self.two("div", -2.0, self._one_plus_exp(x, 2.0)), 1.0, "tanh")

    def _erfc_of(self, size: Value, scale: float) -> Value:
        """erfc(size * scale) for size >= 0."""
        b = self.b
        t = self.two("div", 1.0, b.scalar("adds", b.scalar("muls", size, ERF_P * scale), 1.0))
        sum_ = b.scalar("adds", b.scalar("muls", t, ERF[4]), ERF[3])
        for c in reversed(ERF[:3]):
            sum_ = b.scalar("adds", b.binary("mul", sum_, t), c)
        gauss = b.unary("exp", b.scalar("muls", b.binary("mul", size, size), -scale * scale))
        return b.binary("mul", b.binary("mul", sum_, t), gauss, "erfc")

    def op_erf(self, node):
        (x,) = self._operands(node, 1)
        size = self.b.scalar("adds", self.b.scalar("muls", self._erfc_of(self.b.unary("abs", x), 1.0), -1.0), 1.0)
        return self.b.select(self.b.compare("LT", x, 0.0), self.b.scalar("muls", size, -1.0), size, hint="erf")

    def op_gelu(self, node):
        """x * Phi(x) = max(x, 0) - |x| / 2 * erfc(|x| / sqrt 2); or its approximation by tanh."""
        (x,), b = self._operands(node, 1), self.b
        if node.kwargs.get("approximate", "none") == "tanh":
            cube = b.binary("mul", b.binary("mul", x, x), x)
            u = b.binary("add", x, b.scalar("muls", cube, 0.044715))
            return b.binary("div", x, self._one_plus_exp(u, -2.0 * math.sqrt(2.0 / math.pi)), "gelu")
        size = b.unary("abs", x)
        tail = b.binary("mul", b.scalar("muls", size, 0.5), self._erfc_of(size, math.sqrt(0.5)))
        return b.binary("sub", b.unary("relu", x), tail, "gelu")

    def op_elu(self, node):
        (x,), b = self._operands(node, 1), self.b
        alpha, scale, inner = (
            self._setting(node, i, n, 1) for i, n in ((1, "alpha"), (2, "scale"), (3, "input_scale"))
        )
        least = b.scalar("mins", x, 0.0)
        grown = b.scalar("adds", b.unary("exp", least if inner == 1 else b.scalar("muls", least, inner)), -1.0)
        made = b.select(b.compare("GT", x, 0.0), x, b.scalar("muls", grown, alpha), hint="elu")
        return made if scale == 1 else b.scalar("muls", made, scale)

    # ---- conditions

    def _compare(self, node):
        mode = name_of(node).upper()
        assert mode in COMPARE
        a, b = self.arg(node, 0), self.arg(node, 1)
        if not isinstance(a, Value) and not isinstance(b, Value):
            return bool(getattr(operator, mode.lower())(a, b))
        a, b = self._rounded_beside(node, 1, a), self._rounded_beside(node, 0, b)
        kinds = [v.dtype for v in (a, b) if isinstance(v, Value)]
        numbers = [v for v in (a, b) if not isinstance(v, Value)]
        whole = "f32" not in kinds and all(float(n).is_integer() for n in numbers) and "i32" in kinds
        a, b = (self._as(v, "i32" if whole else "f32") for v in (a, b))
        if not isinstance(a, Value):
            a, b, mode = b, a, {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}.get(mode, mode)
        return self.b.compare(mode, a, b, mode.lower())

    def _rounded_beside(self, node, other: int, value):
        """A number beside a 16-bit tensor, which PyTorch rounds to the tensor's type before it compares."""
        beside = node.args[other]
        dtype = beside.meta["val"].dtype if hasattr(beside, "meta") else None
        narrow = str(dtype) in ("torch.float16", "torch.bfloat16")
        return of_type(value, dtype) if narrow and not isinstance(value, Value) else value

    op_eq = op_ne = op_lt = op_le = op_gt = op_ge = _compare

    def _logic(self, node):
        if computed(node.meta["val"].dtype) != "bits":
            raise refuse("operator", name=f"aten.{name_of(node)} of integers", node=node.name)
        name = name_of(node)
        if not name.endswith("xor"):
            return self._both(node, "and" if name.endswith("and") else "or")
        a, b = self._operands(node)
        if not isinstance(a, Value) or not isinstance(b, Value):
            raise refuse("operator", name=f"aten.{name} with a number", node=node.name)
        both, some = self.b.logic("and", a, b), self.b.logic("or", a, b)
        return self.b.logic("and", some, self.b.inverse(both))

    op_logical_and = op_logical_or = op_logical_xor = op_bitwise_and = op_bitwise_or = op_bitwise_xor = _logic

    def op_logical_not(self, node):
        bits = self._as(self.arg(node, 0), "bits")
        return self.b.inverse(bits) if isinstance(bits, Value) else not bits

    def op_bitwise_not(self, node):
        if computed(node.meta["val"].dtype) != "bits":
            raise refuse("operator", name="aten.bitwise_not of integers", node=node.name)
        return self.op_logical_not(node)

    def op_where(self, node):
        dtype = computed(node.meta["val"].dtype)
        bits = self._as(self.arg(node, 0), "bits")
        a, b = (self._as(self.arg(node, i), dtype) for i in (1, 2))
        if not isinstance(bits, Value):
            return a if bits else b
        if dtype == "bits":
            a, b = (
                v if isinstance(v, Value) else self.b.compare("NE", self.b.fill(bits, float(v)), 0.0) for v in (a, b)
            )
            return self.b.logic("or", self.b.logic("and", bits, a), self.b.logic("and", self.b.inverse(bits), b))
        return self.b.select(bits, a, b, dtype, "where")

    def op_masked_fill(self, node):
        x, bits, number = self.arg(node, 0), self._as(self.arg(node, 1), "bits"), self.arg(node, 2)
        if not isinstance(bits, Value):
            return number if bits else x
        return self.b.select(bits, number, x, computed(node.meta["val"].dtype), "masked")


def of_type(number, dtype):
    """As a tensor of that type holds it."""
    import torch

    return torch.tensor(number).to(dtype).item()


def describe(node) -> str:
    """What the user would write for the node, with the graph's names."""

    def text(a) -> str:
        if hasattr(a, "meta"):
            return a.name
        return (
            "[" + ", ".join(map(text, a)) + "]"
            if isinstance(a, (list, tuple))
            else f"{a:g}"
            if isinstance(a, float)
            else str(a)
        )

    given = [text(a) for a in node.args]
    return f"{node.name} = {name_of(node).strip('_')}({', '.join(given)})"


def lower(
    traced: Traced, space: Space, name: str, title: str, shape: str, rounding: str
) -> tuple[Program, dict[str, Tensor]]:
    made = Lowering(traced, space, name, title, shape, rounding)
    return made.program(), made.tensors


def hoists(space: Space) -> bool:
    """Whether whole rows in UB let something be fetched once for all rows."""
    return any(o.kind == ROW and not o.batched for o in space.inputs)
