"""What puts elements elsewhere: gather, cat, join, split, histogram, and views that rows do not survive."""

from __future__ import annotations

import math
import re

import sympy

from labkit.triton import lanes, layout
from labkit.triton.forms import Index, Mask, Pointer, Scalar, Tile
from labkit.triton.index import LANES, Div, Rem, affine, cpp
from labkit.triton.kernel import Kernel, lowers
from labkit.triton.tiles import each_lane, move, tile
from labkit.triton.ttir import Op


def linear(shape: tuple[int, ...]) -> sympy.Expr:
    """A lane's number, row by row."""
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    return sum((LANES[d] * s for d, (n, s) in enumerate(zip(shape, strides)) if n > 1), sympy.Integer(0))


def places(new: tuple[int, ...], old: tuple[int, ...]) -> dict[int, sympy.Expr]:
    """The old lanes of a new one, of the same elements row by row."""
    found, strides = {}, [math.prod(new[d + 1 :]) for d in range(len(new))]
    for d, n in enumerate(old):
        step = math.prod(old[d + 1 :])
        top = step * n
        inside = [i for i in range(len(new)) if new[i] > 1]
        if n == 1:
            found[d] = sympy.Integer(0)
        elif all(
            strides[i] >= top or (strides[i] >= step and strides[i] * new[i] <= top) or strides[i] * new[i] <= step
            for i in inside
        ):  # fmt: skip  each new dimension lies in one old one
            found[d] = sum(
                (LANES[i] * (strides[i] // step) for i in inside if step <= strides[i] < top), sympy.Integer(0)
            )
        else:
            whole = linear(new)
            quotient = Div(whole, sympy.Integer(step)) if step > 1 else whole
            found[d] = Rem(quotient, sympy.Integer(n)) if math.prod(old[:d]) > 1 else quotient
    return found


def viewed(k: Kernel, op: Op) -> None:
    """tl.reshape where lanes change their dimensions."""
    v, old, new = op.result, op.operands[0].shape, op.result.shape
    form, there = k.forms[op.operands[0]], places(new, old)
    if isinstance(form, (Index, Mask, Pointer, Scalar)):
        return k.keep(v, form.moved(there))
    if not isinstance(form, Tile):
        raise k.refuse(f"a reshape of {old} to {new}", "load in the shape that is needed")
    at = [f"({cpp(there[d])})" for d in range(len(old))]
    return k.keep(v, lanes.moved(k, op, form, old, at, f"a reshape of {old} to {new}"))


def order(op: Op) -> tuple[int, ...]:
    found = re.search(r"order = array<i32: ([\d, ]+)>", op.text)
    return tuple(int(d) for d in found[1].split(","))


def turned(k: Kernel, op: Op) -> None:
    """tl.trans of any number of dimensions."""
    form, by = k.forms[op.operands[0]], order(op)
    if not isinstance(form, Tile):
        return k.keep(op.result, form.moved({old: new for new, old in enumerate(by)}))
    at = [lanes.NAMES[by.index(d)] for d in range(len(by))]
    return k.keep(op.result, lanes.moved(k, op, form, op.operands[0].shape, at, f"dimensions in the order {by}"))


def sort(k: Kernel, op: Op, symbol: str) -> None:
    """Along one dimension; what is equal keeps its order."""
    form, v = k.forms[op.operands[0]], op.result
    _, _, way, axis = symbol.split("_")
    axis, shape = int(axis), v.shape
    if v.elem == "i1":
        raise k.refuse("tl.sort of conditions", "convert to int8 before")
    source = tile(k, form, shape, v.elem)
    made = k.buffer(v.elem, shape, v.name or "sorted")
    move(k, made, source)
    if source is not form:
        k.done(source)
    k.helpers.add("SortLanes")
    lanes.say(k, op, "tl.sort, by merging")
    apart, wide = 1, layout.wide_dims(shape)
    if wide and axis != wide[-1]:
        apart = layout.pitch(shape) * math.prod(n for d, n in enumerate(shape[:-1]) if d > axis and d in wide[:-1])
    with k.scratch(v.elem, (shape[axis],), "work") as work:
        k.sync("V_S")
        at = [n if d != axis else "0" for d, n in enumerate(lanes.NAMES)]
        one = tuple(n if d != axis else 1 for d, n in enumerate(shape))
        down = str(way == "down").lower()
        first = f"{made.var}[{layout.flat(shape, at)}]"
        line = f"SortLanes({first}, {work.var}, {shape[axis]}, {apart}, {down});"
        each_lane(k, one, lambda _: k.emit(line))
        k.sync("S_V")
    k.keep(v, made)


@lowers("tt.gather")
def gather(k: Kernel, op: Op) -> None:
    source, index = (k.forms[o] for o in op.operands)
    axis, shape = op.int("axis"), op.operands[0].shape
    src = tile(k, source, shape, op.operands[0].elem)
    at = list(lanes.NAMES)
    at[axis] = f"({lanes.element(index)})"
    k.keep(op.result, lanes.moved(k, op, src, shape, at, "tl.gather"))
    if src is not source:
        k.done(src)


@lowers("tt.join")
def join(k: Kernel, op: Op) -> None:
    forms, shape = [k.forms[o] for o in op.operands], op.operands[0].shape
    last = lanes.NAMES[len(shape)]
    made = lanes.lanewise(k, op, forms, op.result.shape, lambda a, b: f"({last} == 0 ? {a} : {b})", "tl.join")
    k.keep(op.result, made)


@lowers("tt.split")
def split(k: Kernel, op: Op) -> None:
    form, shape = k.forms[op.operands[0]], op.operands[0].shape
    for n, v in enumerate(op.results):
        if not isinstance(form, Tile):
            k.keep(v, form.moved({len(shape) - 1: sympy.Integer(n)}))
            continue
        lanes.say(k, op, "tl.split")
        made = lanes.room(k, op, "f32" if v.elem == "i1" else v.elem, v.shape, v.name)
        k.sync("V_S")
        value = lanes.written(lanes.element(form, [*lanes.NAMES[: len(shape) - 1], str(n)]), made.elem)
        each_lane(k, v.shape, lambda at, made=made, value=value: k.emit(f"{made.var}.SetValue({at}, {value});"))
        k.sync("S_V")
        if v.shape:
            k.keep(v, lanes.as_bits(k, made, v.name) if v.elem == "i1" else made)
            continue

        name = k.fresh(v.name or "part")
        k.emit(f"const {lanes.c_type(v.elem)} {name} = {lanes.read(made, '0')};")
        k.done(made)
        k.forms[v] = lanes.known(name, v.elem)


@lowers("tt.cat")
def cat(k: Kernel, op: Op) -> None:
    """One behind the other along the first dimension."""
    v = op.result
    lanes.say(k, op, "tl.cat")
    made = lanes.room(k, op, "f32" if v.elem == "i1" else v.elem, v.shape)
    k.sync("V_S")
    half = op.operands[0].shape[0]
    for n, o in enumerate(op.operands):
        value = lanes.written(lanes.element(k.forms[o]), made.elem)
        first = str(n) if half == 1 else f"(i0 + {n * half})"
        at = layout.flat(v.shape, [first, *lanes.NAMES[1:]])
        each_lane(k, o.shape, lambda _, at=at, value=value: k.emit(f"{made.var}.SetValue({at}, {value});"))
    k.sync("S_V")
    k.keep(v, lanes.as_bits(k, made, v.name) if v.elem == "i1" else made)


@lowers("tt.histogram")
def histogram(k: Kernel, op: Op) -> None:
    v, form = op.result, k.forms[op.operands[0]]
    mask = k.forms[op.operands[1]] if len(op.operands) > 1 else None
    made = k.buffer(v.elem, v.shape, v.name or "bins")
    from labkit.triton.tiles import duplicate, zero

    duplicate(k, made, zero(v.elem))
    lanes.say(k, op, "tl.histogram")
    k.sync("V_S")
    bins, bin_ = v.shape[0], k.fresh("bin")

    def count(_) -> None:
        k.emit(f"const int64_t {bin_} = {lanes.element(form)};")
        guard = f" && {lanes.element(mask)}" if mask is not None else ""
        k.emit(
            f"if ({bin_} >= 0 && {bin_} < {bins}{guard}) {made.var}.SetValue({bin_}, {made.var}.GetValue({bin_}) + 1);"
        )

    each_lane(k, op.operands[0].shape, count)
    k.sync("S_V")
    k.keep(v, made)


def straight_lane(form, d: int) -> bool:
    """Whether an index is the number of its lane in a dimension."""
    found = affine(form.expr, len(LANES)) if isinstance(form, Index) else None
    return found is not None and sympy.expand(form.expr - LANES[d]) == 0
