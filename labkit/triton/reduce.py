"""tl.sum, tl.max, tl.min along an axis."""

from __future__ import annotations

import sympy

from labkit.triton import combine, layout
from labkit.triton.elementwise import fetch
from labkit.triton.forms import Index, Mask, Relation, Scalar, Tile
from labkit.triton.index import symbol
from labkit.triton.kernel import Kernel, lowers
from labkit.triton.numbers import rounded
from labkit.triton.tiles import at, by_rows, cast, ones, tile
from labkit.triton.ttir import Block, Op

COMBINERS = {
    ("arith.addf",): "Sum", ("arith.addi",): "Sum", ("arith.maxnumf",): "Max", ("arith.maximumf",): "Max",
    ("arith.minnumf",): "Min", ("arith.minimumf",): "Min", ("arith.maxsi",): "Max", ("arith.minsi",): "Min",
    ("arith.ori",): "Any", ("arith.andi",): "All",
}  # fmt: skip


def combiner(block: Block) -> str | None:
    names = tuple(op.name for op in block.ops[:-1])
    if names in COMBINERS:
        return COMBINERS[names]
    if names == ("arith.cmpf", "arith.cmpf", "arith.ori", "arith.select"):  # the larger or smaller one, NaN wins
        return {2: "Max", 4: "Min"}[block.ops[0].int("predicate")]
    return None


@lowers("tt.reduce")
def reduce(k: Kernel, op: Op):
    kind = combiner(op.blocks[0])
    v, elem = op.result, op.operands[0].elem
    shape, axis = op.operands[0].shape, op.int("axis")
    dims = layout.wide_dims(shape)
    whole = elem in ("i32", "i16", "i8", "i64")
    if (
        kind is None
        or len(op.operands) != 1
        or (kind in ("Any", "All") and elem != "i1")
        or (whole and (elem == "i64" or len(dims) > 2 or (len(dims) == 2 and axis != dims[1])))
        or (shape[axis] > 1 and len(dims) > 2)
    ):
        return combine.reduced(k, op)
    source = k.forms[op.operands[0]]
    src = tile(k, source, shape, elem)
    made = [] if src is source or (isinstance(source, Tile) and src.place is source.place) else [src]
    if elem == "i1":
        src = ones(k, src)
        made.append(src)
        kind = {"Any": "Max", "All": "Min"}.get(kind, kind)
    if elem in ("i32", "i16", "i8", "i64"):
        value = integers(k, op, src, kind, shape, axis)
    else:
        if src.elem != "f32":
            wide = k.buffer("f32", shape, "wide")
            cast(k, wide, src)
            made.append(wide)
            src = wide
        value = floats(k, op, src, kind, shape, axis)
    for t in made:
        k.done(t)
    if isinstance(value, str):
        if elem == "i1":
            k.forms[v] = Mask((Relation(symbol(value), "!=", sympy.Integer(0)),))
        elif elem[0] == "i":
            k.forms[v] = Index(symbol(value), elem)
        else:
            k.forms[v] = Scalar(value if elem == "f32" else rounded(value, elem), elem)
        return
    if elem == "i1":
        bits = k.buffer("i1", v.shape, v.name or "bits")
        k.emit(f"CompareScalar({bits.var}, {value.var}, 0.0f, CMPMODE::NE, {layout.whole(v.shape)});")
        k.done(value)
        value = bits
    elif value.elem != v.elem:
        narrow = k.result(v, v.elem, v.shape)
        cast(k, narrow, value)
        k.done(value)
        value = narrow
    k.keep(v, value)


def floats(k: Kernel, op: Op, src: Tile, kind: str, shape: tuple[int, ...], axis: int) -> Tile | str:
    v = op.result
    dims = layout.wide_dims(shape)
    if shape[axis] == 1:  # nothing to reduce
        if not v.shape:
            return fetch(k, src, v.name or "value")
        made = k.buffer("f32", v.shape, v.name or "t")
        cast(k, made, src)
        return made
    if len(dims) == 1:
        n = shape[axis]
        with k.scratch("f32", (8,), "result") as out, k.scratch("f32", (n,), "work") as work:
            k.emit(f"Reduce{kind}({out.var}, {src.var}, {work.var}, {n});")
            value = fetch(k, out, v.name or kind.lower())
        if not v.shape:
            return value
        made = k.buffer("f32", v.shape, v.name or "t")
        k.emit(f"Duplicate({made.var}, {value}, {max(8, layout.count(v.shape))});")
        return made
    if len(dims) != 2 or axis not in dims:
        raise k.refuse(f"a reduction of {len(dims)} dimensions", "use two")
    tall, wide, pitch = layout.rows(shape), layout.width(shape), layout.pitch(shape)
    if axis == dims[1]:
        helper, to = (
            f"{kind}OfRows",
            k.result(v, "f32", v.shape) if op.result.elem == "f32" else k.buffer("f32", v.shape, "t"),
        )
        k.shared.add(helper)
        with k.scratch("f32", (min(tall, 248) * pitch // 8 + pitch,), "parts") as parts:
            by_rows(
                k,
                tall,
                lambda r, n: (
                    f"{helper}({to.var}{'' if r == '0' else '[r]'}, {src.var}{at(r, pitch)}, "
                    f"{parts.var}, {n}, {wide}, {pitch});"
                ),
            )
        return to
    helper = f"{kind}OfColumns"
    k.shared.add(helper)
    to = k.buffer("f32", v.shape, v.name or "t")
    with k.scratch("f32", shape, "halves") as halves:
        k.emit(f"{helper}({halves.var}, {src.var}, {tall}, {pitch});")
        k.emit(f"Adds({to.var}, {halves.var}, 0.0f, {wide});")
    return to


def integers(k: Kernel, op: Op, src: Tile, kind: str, shape: tuple[int, ...], axis: int) -> Tile | str:
    """Exact: halves of a row are folded into each other."""
    v = op.result
    if src.elem != "i32":
        wide = k.buffer("i32", shape, "wide")
        cast(k, wide, src)
        src = wide
    tall, wide, pitch = layout.rows(shape), layout.width(shape), layout.pitch(shape)
    k.helpers.add(f"Fold{kind}")
    with k.scratch("i32", shape, "folded") as folded:
        k.emit(f"Adds({folded.var}, {src.var}, static_cast<int32_t>(0), {layout.count(shape)});")
        if not v.shape:
            name = k.fresh(v.name or kind.lower())
            k.emit(f"const int32_t {name} = Fold{kind}({folded.var}, {wide});")
            return name
        to = k.buffer("i32", v.shape, v.name or "t")
        k.sync("V_S")
        with k.inside(f"for (int32_t r = 0; r < {tall}; r++)"):
            k.emit(f"to.SetValue(r, Fold{kind}({folded.var}[r * {pitch}], {wide}));".replace("to.", f"{to.var}."))
        k.sync("S_V")
    return to
