"""tl.sum, tl.max, tl.min along an axis; tl.reduce and tl.associative_scan with any function of the author's.

A function that the vector unit does not know is written into a loop of the scalar unit, once: an accumulator for each
tensor goes along the axis, from the first lane, or from the last where a scan is reversed.
"""

from __future__ import annotations

from contextlib import ExitStack

import sympy

from labkit.triton import lanes, layout
from labkit.triton.elementwise import fetch
from labkit.triton.forms import Index, Mask, Relation, Scalar, Tile
from labkit.triton.index import symbol
from labkit.triton.kernel import Kernel, lowers
from labkit.triton.lanes import rounded
from labkit.triton.tiles import at, by_rows, cast, move, ones, tile
from labkit.triton.ttir import Block, Op

COMBINERS = {
    ("arith.addf",): "Sum", ("arith.addi",): "Sum", ("arith.maxnumf",): "Max", ("arith.maximumf",): "Max",
    ("arith.minnumf",): "Min", ("arith.minimumf",): "Min", ("arith.maxsi",): "Max", ("arith.minsi",): "Min",
    ("arith.ori",): "Any", ("arith.andi",): "All",
}  # fmt: skip


GREATER, LESS, UNEQUAL = 2, 4, 13  # MLIR's numbers: ordered >, ordered <, unordered !=


def combiner(block: Block) -> str | None:
    """The unit's instruction that does what the function does; None: none, or not seen to."""
    *ops, end = block.ops
    names = tuple(op.name for op in ops)
    if end.operands != [op.result for op in ops[-1:]]:
        return None
    if names in COMBINERS:
        return COMBINERS[names] if of_both(block, ops[0]) else None
    if names == ("arith.cmpf", "arith.cmpf", "arith.ori", "arith.select"):  # the larger or smaller one, NaN wins
        left, right = block.args
        beats, is_nan, either, chosen = ops
        if (
            beats.operands == [left, right]
            and is_nan.operands == [left, left]
            and is_nan.int("predicate") == UNEQUAL
            and set(either.operands) == {beats.result, is_nan.result}
            and chosen.operands == [either.result, left, right]
        ):
            return {GREATER: "Max", LESS: "Min"}.get(beats.int("predicate"))
    return None


def of_both(block: Block, op: Op) -> bool:
    """Whether it is worked out of the function's two arguments, one of each."""
    return len(block.args) == 2 and set(op.operands) == set(block.args)


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
        or (kind == "Sum" and elem in ("i8", "i16"))  # the instructions add int32: the sum would not wrap
        or (whole and (elem == "i64" or len(dims) > 2 or (len(dims) == 2 and axis != dims[1])))
        or (shape[axis] > 1 and len(dims) > 2)
    ):
        return reduced(k, op)
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
        if not dims:
            return fetch(k, src, v.name or "value")
        made = k.buffer("f32", v.shape, v.name or "t")
        cast(k, made, src)
        return made
    if len(dims) == 1:
        n = shape[axis]
        with k.scratch("f32", (8,), "result") as out, k.scratch("f32", (n,), "work") as work:
            k.emit(f"Reduce{kind}({out.var}, {src.var}, {work.var}, {n});")
            value = fetch(k, out, v.name or kind.lower())
        return value  # the same in every lane
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
    if shape[axis] == 1:  # nothing to reduce, and the axis that is left is not to be
        if not layout.wide_dims(shape):
            return fetch(k, src, v.name or "value")
        made = k.buffer(src.elem, v.shape, v.name or "t")
        move(k, made, src)
        return made
    taken = src
    if src.elem != "i32":
        src = k.buffer("i32", shape, "wide")
        cast(k, src, taken)
    tall, wide, pitch = layout.rows(shape), layout.width(shape), layout.pitch(shape)
    k.helpers.add(f"Fold{kind}")
    with k.scratch("i32", shape, "folded") as folded:
        k.emit(f"Adds({folded.var}, {src.var}, static_cast<int32_t>(0), {layout.count(shape)});")
        if src is not taken:
            k.done(src)
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


# ---- any function, lane by lane


def applied(k: Kernel, block: Block, left: list[str], right: list[str]) -> list[str]:
    """The function's lines; what it gives, as C++."""
    for arg, name in zip(block.args, [*left, *right]):
        k.forms[arg] = lanes.known(name, arg.elem)
    op, wanted = k.op, k.wanted
    k.wanted = None  # of a kernel that is cut in two the function belongs to the half that calls it
    k.block(block.ops[:-1])
    k.op, k.wanted = op, wanted
    return [lanes.element(k.forms[v]) for v in block.ops[-1].operands]


def first_lane(form, shape: tuple[int, ...], axis: int, at: int) -> str:
    if isinstance(form, Tile):
        names = list(lanes.NAMES)
        names[axis] = str(at)
        return lanes.element(form, names)
    return lanes.element(form.moved({axis: sympy.Integer(at)}))


def along(k: Kernel, op: Op, keep) -> None:
    """keep: called with the accumulators' names, at each lane or, of a reduction, behind the last."""
    shape, axis = op.operands[0].shape, op.int("axis")
    forms = [k.forms[v] for v in op.operands]
    elems = [v.elem for v in op.operands]
    scan = op.name == "tt.scan"
    back = scan and op.handle.get_bool_attr("reverse")
    with ExitStack() as loops:
        for d, n in enumerate(shape):
            if d != axis and n > 1:
                loops.enter_context(k.inside(f"for (int32_t i{d} = 0; i{d} < {n}; i{d}++)"))
        start = shape[axis] - 1 if back else 0
        acc = [k.fresh(r.name or "acc") for r in op.results]
        for name, form, elem in zip(acc, forms, elems):
            k.emit(f"{lanes.c_type(elem)} {name} = {first_lane(form, shape, axis, start)};")
        i = f"i{axis}"
        if scan:
            keep(acc, str(start))
        head = f"{i} = {start - 1}; {i} >= 0; {i}--" if back else f"{i} = 1; {i} < {shape[axis]}; {i}++"
        with k.inside(f"for (int32_t {head})"):
            now = [k.fresh("next") for _ in acc]
            for name, form, elem in zip(now, forms, elems):
                k.emit(f"const {lanes.c_type(elem)} {name} = {lanes.element(form)};")
            given = applied(k, op.blocks[0], acc, now)
            if len(acc) > 1:
                kept = [k.fresh("both") for _ in acc]
                for name, text, elem in zip(kept, given, elems):
                    k.emit(f"const {lanes.c_type(elem)} {name} = {text};")
                given = kept
            for name, text in zip(acc, given):
                k.emit(f"{name} = {text};")
            if scan:
                keep(acc, i)
        if not scan:
            keep(acc, "0")


def finish(k: Kernel, op: Op, outs: list[Tile]) -> None:
    k.sync("S_V")
    for v, t in zip(op.results, outs):
        k.keep(v, lanes.as_bits(k, t, v.name) if v.elem == "i1" else t)


def rooms(k: Kernel, op: Op) -> list[Tile]:
    return [lanes.room(k, op, "f32" if v.elem == "i1" else v.elem, v.shape, v.name) for v in op.results]


def put(k: Kernel, outs: list[Tile], names: list[str], at: list[str]) -> None:
    for t, name in zip(outs, names):
        k.emit(f"{t.var}.SetValue({layout.flat(t.stored, at)}, {lanes.written(name, t.elem)});")


def reduced(k: Kernel, op: Op) -> None:
    shape, axis = op.operands[0].shape, op.int("axis")
    lanes.say(k, op, f"a reduction of {len(op.operands)} tensors by the kernel's own function")
    if not op.result.shape:
        k.sync("V_S")

        def keep(acc: list[str], _) -> None:
            for v, name in zip(op.results, acc):
                k.forms[v] = lanes.known(name, v.elem)

        along(k, op, keep)
        return
    outs = rooms(k, op)
    k.sync("V_S")
    at = [lanes.NAMES[d] for d in range(len(shape)) if d != axis]
    along(k, op, lambda acc, _: put(k, outs, acc, at))
    finish(k, op, outs)


@lowers("tt.scan")
def scan(k: Kernel, op: Op) -> None:
    axis = op.int("axis")
    if downwards(k, op, axis):
        return
    lanes.say(k, op, "each sum needs the one before it")
    outs = rooms(k, op)
    k.sync("V_S")
    along(k, op, lambda acc, at: put(k, outs, acc, [*lanes.NAMES[:axis], at, *lanes.NAMES[axis + 1 :]]))
    finish(k, op, outs)


DOWN = {"arith.addf": "Add", "arith.mulf": "Mul", "arith.addi": "Add", "arith.muli": "Mul", "arith.maxnumf": "Max",
        "arith.minnumf": "Min", "arith.maxsi": "Max", "arith.minsi": "Min"}  # fmt: skip


def downwards(k: Kernel, op: Op, axis: int) -> bool:
    """Down the rows of a tile: a row and the one before it are one instruction."""
    v, block = op.result, op.blocks[0]
    names = [o.name for o in block.ops[:-1]]
    dims = layout.wide_dims(v.shape)
    if len(op.operands) > 1 or len(dims) != 2 or axis != dims[0] or len(names) != 1 or names[0] not in DOWN:
        return False
    if not of_both(block, block.ops[0]) or block.ops[-1].operands != [block.ops[0].result]:
        return False
    if v.elem not in ("f32", "f16", "i32", "i16"):
        return False
    source = tile(k, k.forms[op.operands[0]], v.shape, v.elem)
    made = k.buffer(v.elem, v.shape, v.name or "scanned")
    move(k, made, source)
    n, pitch = layout.rows(v.shape), layout.pitch(v.shape)
    back = op.handle.get_bool_attr("reverse")
    head, other = (f"r = {n - 2}; r >= 0; r--", "+") if back else (f"r = 1; r < {n}; r++", "-")
    with k.inside(f"for (int32_t {head})"):
        here, before = f"{made.var}[r * {pitch}]", f"{made.var}[(r {other} 1) * {pitch}]"
        k.emit(f"{DOWN[names[0]]}({here}, {before}, {here}, {pitch});")
    if source is not k.forms[op.operands[0]]:
        k.done(source)
    k.keep(v, made)
    return True
