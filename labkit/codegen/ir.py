"""A tile program: what one tile of a tensor goes through between its load and its store.

A front end (labkit.fusion, or any other) describes tensors and makes values of them with a Builder:

    b = Builder("swiglu")
    gate, up = b.load(Tensor("gate", "f16")), b.load(Tensor("up", "f16"))
    silu = b.binary("div", gate, b.scalar("adds", b.unary("exp", b.scalar("muls", gate, -1.0)), 1.0))
    b.store(Tensor("y", "f16"), b.binary("mul", silu, up))
    program = b.done()

A tile has `tall` rows of `wide` columns. A value is one of three kinds: FULL has a number for every element of the
tile, ROW one for each column (the same in every row), COLUMN one for each row. Where two kinds meet the Builder puts
in what widens the narrower one. Numbers are computed in float (16-bit types are widened at their load and rounded at
their store), integers in int32, conditions are bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from labkit import messages

FULL, ROW, COLUMN, ONE = "full", "row", "column", "one"
ROWS, PIECES, WIDE, DOWN = "rows", "pieces", "wide", "down"  # the shapes that a kernel can have, see Builder
SIZES = {"f32": 4, "i32": 4, "f16": 2, "bf16": 2, "u8": 1, "bits": 0.125}
UNARY = ("exp", "ln", "sqrt", "abs", "relu")
SCALAR = ("adds", "muls", "maxs", "mins")
BINARY = ("add", "sub", "mul", "div", "max", "min")
COMPARE = ("EQ", "NE", "LT", "LE", "GT", "GE")
REDUCE = {"sum": 0.0, "max": -math.inf, "min": math.inf}  # and what changes nothing


class Refused(ValueError):
    """A program that cannot be a kernel of this kind; the text says which part and what to do."""


def refuse(key: str, **fields) -> Refused:
    return Refused(messages.text(f"codegen.{key}", **fields))


@dataclass(eq=False)
class Tensor:
    """In GM. kind: FULL; ROW has one row for all, COLUMN one number for each row, ONE a single number.
    batched: it moves on with the batch (a loop around the rows)."""

    name: str
    dtype: str
    kind: str = FULL
    batched: bool = False


@dataclass(eq=False)
class Value:
    """In UB: the result of a step."""

    name: str
    dtype: str
    kind: str
    hoisted: bool = False  # the same for all tiles: computed once, before the first
    users: list = field(default_factory=list, repr=False)
    tensor: Tensor | None = None  # the one that it is a raw load of


@dataclass(eq=False)
class Step:
    """op: load, store, cast, fill, copy, expand, expand_one, reduce, compare, select, and, or, not, or a name of UNARY,
    SCALAR, BINARY.
    note: what it stands for in the user's program; the printer writes it above the first step that has it."""

    op: str
    ins: tuple[Value, ...]
    out: Value | None
    note: str = ""
    scalar: float | int | str | None = None  # a number, or a C++ expression
    mode: str = ""
    tensor: Tensor | None = None
    stage: int = 0  # WIDE: the pass that it belongs to


@dataclass(eq=False)
class Program:
    """What a Builder has made. shape: ROWS, PIECES or WIDE."""

    name: str
    shape: str
    inputs: list[Tensor]
    outputs: list[Tensor]
    steps: list[Step]
    title: str = ""

    @property
    def batched(self) -> bool:
        return any(t.batched for t in (*self.inputs, *self.outputs))

    @property
    def reduces(self) -> bool:
        return any(s.op == "reduce" for s in self.steps)

    @property
    def values(self) -> list[Value]:
        return [s.out for s in self.steps if s.out is not None]


# What C++ keeps for itself, and what the printer calls its own.
KEYWORDS = set(
    "and or not xor bool float half int char auto case catch class const default delete do double else enum extern "
    "false for friend goto if inline long new operator private public register return short signed sizeof static "
    "struct switch template this true try typedef union unsigned using virtual void volatile while asm concept "
    "requires export module import columns tile slot at n high pitch piece p parts blocks wide tall row column inner "
    "outer tiling op left next tiles batch ahead "
    "INFINITE TILE TALL COLUMN COLUMNS BLOCKS PARTS UB_END LANES PITCH".split()
)


def identifier(name: str, taken: dict[str, int]) -> str:
    """A C++ name that nothing else has yet."""
    base = "".join(c if c.isalnum() and c.isascii() else "_" for c in name).strip("_") or "value"
    base = f"v{base}" if base[0].isdigit() else f"{base}_" if base in KEYWORDS else base
    count = taken.get(base, 0)
    taken[base] = count + 1
    return base if count == 0 else identifier(f"{base}_{count}", taken)


class Builder:
    """Makes a Program, value by value.

    shape: ROWS keeps whole rows in UB, so that rows can be reduced and what is the same for all rows is fetched once.
    PIECES cuts rows wherever it likes and has no reductions. WIDE reduces rows that do not fit UB: each row goes
    through UB in pieces, once for each reduction that another one waits for and once for what is stored. DOWN keeps
    whole columns in UB and reduces those: a reduction gives a ROW. note: what is being built, in the user's words.
    """

    def __init__(self, name: str, title: str = "", shape: str = ROWS):
        self.name, self.title, self.shape = name, title, shape
        self.note = ""
        self._taken: dict[str, int] = {}
        self._steps: list[Step] = []
        self._inputs: list[Tensor] = []
        self._outputs: list[Tensor] = []
        self._loaded: dict[Tensor, Value] = {}
        self._known: dict[tuple, Value] = {}

    # ---- steps

    def _step(self, op, ins, dtype, kind, hint="", **more) -> Value:
        key = (op, tuple(map(id, ins)), dtype, kind, more.get("scalar"), more.get("mode", ""))
        if op != "load" and key in self._known:  # computed already
            return self._known[key]
        hoisted = self.shape == ROWS and bool(ins) and all(v.hoisted for v in ins)
        out = Value(identifier(hint or op, self._taken), dtype, kind, hoisted)
        step = Step(op, tuple(ins), out, self.note, **more)
        for v in ins:
            v.users.append(step)
        self._steps.append(step)
        self._known[key] = out
        return out

    def _declare(self, tensor: Tensor) -> None:
        tensor.name = identifier(tensor.name, self._taken)

    def load(self, tensor: Tensor) -> Value:
        """As it is computed with: float, int32, or bits of a tensor of u8 that holds conditions."""
        if tensor in self._loaded:
            return self._loaded[tensor]
        self._declare(tensor)
        self._inputs.append(tensor)
        if self.shape in (PIECES, DOWN) and tensor.kind in (COLUMN, ONE):
            kind = COLUMN
        elif self.shape == WIDE and tensor.kind == ROW:
            kind = FULL
        else:
            kind = COLUMN if tensor.kind == ONE else tensor.kind
        raw = self._step("load", (), tensor.dtype, kind, f"{tensor.name}_in", tensor=tensor)
        raw.tensor = tensor
        raw.hoisted = self.shape == ROWS and tensor.kind in (ROW, ONE) and not tensor.batched
        value = raw
        if tensor.dtype in ("f16", "bf16"):
            value = self._step("cast", (raw,), "f32", kind, f"{tensor.name}_float")
        elif tensor.dtype == "u8":
            half = self._step("cast", (raw,), "f16", kind, tensor.name)
            value = self._step("cast", (half,), "f32", kind, tensor.name)
        if tensor.kind == ONE:
            value = self._step("expand_one", (value,), value.dtype, kind, f"{tensor.name}_all")
        if tensor.dtype == "u8":
            value = self.compare("NE", value, 0.0)
        self._loaded[tensor] = value
        return value

    def store(self, tensor: Tensor, value: Value) -> None:
        """Rounds to the tensor's type (to the nearest, ties to even) and stores."""
        self._declare(tensor)
        self._outputs.append(tensor)
        kind = tensor.kind if tensor.kind in (FULL, ROW) else COLUMN
        value = self.widen(value, kind)
        if tensor.dtype in ("f16", "bf16"):
            value = self._step("cast", (value,), tensor.dtype, kind, f"{tensor.name}_out")
        elif tensor.dtype == "u8":
            number = self.number(value) if value.dtype == "bits" else value
            half = self._step("cast", (number,), "f16", kind, tensor.name)
            value = self._step("cast", (half,), "u8", kind, f"{tensor.name}_out")
        if value.hoisted or value.tensor is not None or any(u.op == "store" for u in value.users):
            value = self._copy(value, f"{tensor.name}_out")
        step = Step("store", (value,), None, self.note, tensor=tensor)
        value.users.append(step)
        self._steps.append(step)

    def _copy(self, value: Value, hint: str) -> Value:
        out = Value(identifier(hint, self._taken), value.dtype, value.kind)
        step = Step("copy", (value,), out, self.note)
        value.users.append(step)
        self._steps.append(step)
        return out

    def done(self) -> Program:
        """The program, without what nothing uses. Raises Refused."""
        wanted = _needed(self._steps)
        steps = [s for s in self._steps if s in wanted]
        for value in {v for s in self._steps for v in s.ins}:
            value.users = [u for u in value.users if u in wanted]
        if not self._outputs:
            raise refuse("no_output", name=self.name)
        inputs = [t for t in self._inputs if any(s.tensor is t for s in steps)]
        program = Program(self.name, self.shape, inputs, self._outputs, steps, self.title)
        if program.reduces and self.shape == PIECES:
            raise refuse("reduction_in_pieces", name=self.name)
        return program

    # ---- kinds

    def widen(self, value: Value, kind: str) -> Value:
        if value.kind == kind or kind != FULL:
            return value
        if value.dtype == "bits":  # by way of numbers: there is no broadcast of bits
            return self.compare("NE", self.widen(self.number(value), FULL), 0.0)
        return self._step("expand", (value,), value.dtype, FULL, f"{value.name}_wide")

    def _together(self, a: Value, b: Value) -> tuple[Value, Value, str]:
        """Both in the kind of their result; one of them may stay a COLUMN beside a FULL one."""
        if a.kind == b.kind:
            return a, b, a.kind
        if ROW in (a.kind, b.kind):
            a, b = (self.widen(v, FULL) if v.kind == ROW else v for v in (a, b))
        return a, b, FULL

    # ---- arithmetic

    def unary(self, op: str, x: Value, hint: str = "") -> Value:
        return self._step(op, (x,), "f32", x.kind, hint)

    def scalar(self, op: str, x: Value, number: float | int | str, hint: str = "") -> Value:
        return self._step(op, (x,), x.dtype, x.kind, hint, scalar=number)

    def fill(self, like: Value, number: float | int, dtype: str = "f32") -> Value:
        """The same number everywhere, in the kind of `like`."""
        made = self._step("fill", (), dtype, like.kind, "same", scalar=number)
        # a tile full of them is as quick to fill again as it is dear to keep
        made.hoisted = made.hoisted or (self.shape == ROWS and (like.kind != FULL or like.hoisted))
        return made

    def binary(self, op: str, a: Value, b: Value, hint: str = "") -> Value:
        a, b, kind = self._together(a, b)
        if kind == FULL and (b.kind if a.kind == FULL else a.kind) == COLUMN and a.dtype == "i32":
            a, b = self.widen(a, FULL), self.widen(b, FULL)
        return self._step(op, (a, b), a.dtype, kind, hint)

    def compare(self, mode: str, a: Value, b: Value | float | int, hint: str = "") -> Value:
        """Bits. Of int32 the unit compares for equality only: the rest by way of the smaller or the larger one."""
        if not isinstance(b, Value) and a.dtype == "f32":
            return self._step("compare", (a,), "bits", a.kind, hint or "is", scalar=float(b), mode=mode)
        if not isinstance(b, Value):
            b = self.fill(a, int(b), "i32")
        a, b, kind = self._together(a, b)
        a, b = self.widen(a, kind), self.widen(b, kind)
        if a.dtype == "i32" and mode != "EQ":
            if mode == "NE":
                return self.inverse(self.compare("EQ", a, b))
            if mode in ("LT", "GT"):
                return self.inverse(self.compare("GE" if mode == "LT" else "LE", a, b))
            b, a = self.binary("min" if mode == "LE" else "max", a, b), a
        return self._step("compare", (a, b), "bits", kind, hint or "is", mode="EQ" if a.dtype == "i32" else mode)

    def logic(self, op: str, a: Value, b: Value) -> Value:
        kind = a.kind if a.kind == b.kind else FULL
        return self._step(op, (self.widen(a, kind), self.widen(b, kind)), "bits", kind, f"{op}_")

    def inverse(self, bits: Value) -> Value:
        return self._step("not", (bits,), "bits", bits.kind, "not_")

    def number(self, bits: Value) -> Value:
        """1.0 where the bit is set, else 0.0."""
        return self.select(bits, 1.0, 0.0)

    def select(
        self, bits: Value, a: Value | float | int, b: Value | float | int, dtype: str = "f32", hint: str = ""
    ) -> Value:
        """a where the bit is set, else b; one of them, or both, may be numbers."""
        kinds = {v.kind for v in (bits, a, b) if isinstance(v, Value)}
        kind = kinds.pop() if len(kinds) == 1 else FULL
        bits, a, b = (self.widen(v, kind) if isinstance(v, Value) else v for v in (bits, a, b))
        if not isinstance(a, Value):
            if isinstance(b, Value):  # the unit takes a number in the second place only
                bits, a, b = self.inverse(bits), b, a
            else:
                a = self.fill(bits, a, dtype)
        if not isinstance(b, Value) and a.dtype == "i32":
            b = self.fill(a, b, "i32")
        ins = (bits, a, b) if isinstance(b, Value) else (bits, a)
        number = None if isinstance(b, Value) else float(b)
        return self._step("select", ins, a.dtype, kind, hint or "select", scalar=number)

    def cast(self, x: Value, dtype: str, hint: str = "") -> Value:
        """f32 to i32 drops what is behind the point; i32 to f32 rounds to the nearest."""
        if x.dtype == dtype:
            return x
        if x.dtype == "bits":
            x = self.number(x)
            return x if dtype == "f32" else self.cast(x, dtype, hint)
        if dtype == "bits":
            return self.compare("NE", x, 0)
        return self._step("cast", (x,), dtype, x.kind, hint)

    def rounded(self, x: Value, dtype: str) -> Value:
        """x as it would be after a visit to memory in a 16-bit type."""
        return self._step("cast", (self._step("cast", (x,), dtype, x.kind, "narrow"),), "f32", x.kind, "rounded")

    def reduce(self, op: str, x: Value, hint: str = "") -> Value:
        """A number for each row, of DOWN for each column: sum, max or min of it. Integers go DOWN only: the unit adds
        and compares them lane by lane."""
        if x.dtype != "f32" and not (x.dtype == "i32" and self.shape == DOWN):
            raise refuse("reduce_type", dtype=x.dtype)
        x = self.widen(x, FULL)
        if self.shape == DOWN:
            return self._step("reduce", (x,), x.dtype, ROW, hint or op, mode=op)
        if self.shape == ROWS and x.hoisted:
            x = self._copy(x, x.name)  # its tail is overwritten
        return self._step("reduce", (x,), "f32", COLUMN, hint or op, mode=op)


def _needed(steps: list[Step]) -> set[Step]:
    """The stores, and what they are made of."""
    made = {s.out: s for s in steps if s.out is not None}
    wanted: set[Step] = set()
    stack = [s for s in steps if s.op == "store"]
    while stack:
        step = stack.pop()
        if step not in wanted:
            wanted.add(step)
            stack += [made[v] for v in step.ins]
    return wanted


def share(correction: float = 0, shape: str = ROWS) -> str:
    """One over the number of columns, of DOWN of rows (less `correction`), known when the kernel is launched."""
    whole = f"at.{'rows' if shape == DOWN else 'width'}"
    less = f"{correction}f" if isinstance(correction, float) else str(correction)
    one = f"1.0f / static_cast<float>({whole} - {less})" if correction else f"1.0f / static_cast<float>({whole})"
    if correction <= 1:
        return one
    return f"({whole} > {less} ? {one} : __builtin_inff())"  # of too few: infinite, as PyTorch has it
