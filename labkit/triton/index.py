"""Integers that never reach UB: indices, addresses and limits, as sympy expressions over a tile's lanes i0, i1, ..."""

from __future__ import annotations

import sympy
from sympy.printing.str import StrPrinter

LANES = sympy.symbols("i0:16", integer=True, nonnegative=True)
_ALL = frozenset(LANES)
_COUNTED = {f"{name}{axis}" for name in ("pid", "grid") for axis in range(3)}


class Div(sympy.Function):
    """The quotient without its fraction, as C++ and Triton have it."""

    @classmethod
    def eval(cls, a, b):
        if a.is_Integer and b.is_Integer and b != 0:
            q = abs(int(a)) // abs(int(b))
            return sympy.Integer(q if (a >= 0) == (b > 0) else -q)
        if b == 1:
            return a


class Rem(sympy.Function):
    @classmethod
    def eval(cls, a, b):
        if a.is_Integer and b.is_Integer and b != 0:
            return a - Div(a, b) * b
        if b == 1:
            return sympy.Integer(0)


class Call(sympy.Function):
    """Call(format's name, a, b): an operator of C++ that the algebra does not look into."""


class Where(sympy.Function):
    """Where(d, a, b): a where d is negative, else b."""


class At(sympy.Function):
    """At(a tile's name, element): a number that the scalar unit reads back from UB."""


OPERATORS = {
    "min": "({0} < {1} ? {0} : {1})",
    "max": "({0} > {1} ? {0} : {1})",
    "and": "({0} & {1})",
    "or": "({0} | {1})",
    "xor": "({0} ^ {1})",
    "shl": "({0} << {1})",
    "shr": "({0} >> {1})",
    "shr32": "static_cast<int32_t>(static_cast<uint32_t>({0}) >> {1})",
    "shr64": "static_cast<int64_t>(static_cast<uint64_t>({0}) >> {1})",
    "low8": "static_cast<int8_t>({0})",
    "low16": "static_cast<int16_t>({0})",
    "low32": "static_cast<int32_t>({0})",
    "from8": "static_cast<uint8_t>({0})",
    "from16": "static_cast<uint16_t>({0})",
    "from32": "static_cast<uint32_t>({0})",
    "from64": "static_cast<uint64_t>({0})",
    "udiv": "({0} / {1})",  # of two that are from32() or from64()
    "urem": "({0} % {1})",
    "choose": "({0} ? {1} : {2})",
}
OPAQUE = (Div, Rem, Call, Where, At)


def symbol(name: str) -> sympy.Symbol:
    return sympy.Symbol(name, integer=True)


def natural(e: sympy.Expr) -> bool:
    """Whether it is surely not negative: lanes, programs and grids, and what is added and multiplied of them."""
    known = {s: sympy.Symbol(s.name, integer=True, nonnegative=True) for s in e.free_symbols if s.name in _COUNTED}
    return bool(e.subs(known).is_nonnegative)


def call(name: str, *args) -> sympy.Expr:
    return Call(symbol(name), *args)


class _Printer(StrPrinter):
    def _one(self, e):
        return self._print(e) if e.is_Atom and not e.could_extract_minus_sign() else f"({self._print(e)})"

    def _print_Div(self, e):
        return f"{self._one(e.args[0])} / {self._one(e.args[1])}"

    def _print_Rem(self, e):
        return f"{self._one(e.args[0])} % {self._one(e.args[1])}"

    def _print_Call(self, e):
        return OPERATORS[str(e.args[0])].format(*map(self._one, e.args[1:]))

    def _print_Where(self, e):
        return f"({self._print(e.args[0])} < 0 ? {self._print(e.args[1])} : {self._print(e.args[2])})"

    def _print_At(self, e):
        return f"{e.args[0]}.GetValue({self._print(e.args[1])})"

    def _print_Pow(self, e, rational=False):
        return " * ".join([self.parenthesize(e.base, 1000)] * int(e.exp))

    def _print_Mul(self, e):  # a quotient and a rest are not distributed by C++ as sympy thinks
        if not e.has(Div, Rem):
            return super()._print_Mul(e).replace("*", " * ").replace(" *  * ", " * ")
        parts = [f"({self._print(a)})" if isinstance(a, (Div, Rem, sympy.Add)) else self._print(a) for a in e.args]
        return " * ".join(parts)


def cpp(e) -> str:
    return e if isinstance(e, str) else _Printer().doprint(e if e.has(*OPAQUE) else sympy.expand(e))


def is_scalar(e: sympy.Expr) -> bool:
    return not e.free_symbols & _ALL


def affine(e: sympy.Expr, rank: int) -> tuple[sympy.Expr, tuple[sympy.Expr, ...]] | None:
    """(base, step of each lane) of base + sum of step * lane; None for anything else."""
    e = sympy.expand(e)
    steps = tuple(e.coeff(LANES[d]) for d in range(rank))
    base = sympy.expand(e - sum(c * LANES[d] for d, c in enumerate(steps)))
    return (base, steps) if is_scalar(base) and all(map(is_scalar, steps)) else None


def moved(e: sympy.Expr, change: dict) -> sympy.Expr:
    """With its lanes renumbered, or an expression in a lane's place."""
    there = {LANES[a]: LANES[b] if isinstance(b, int) else b for a, b in change.items()}
    return e.subs({a: b for a, b in there.items() if a != b}, simultaneous=True)
