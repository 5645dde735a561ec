"""tl.reduce and tl.associative_scan with any function of the author's, of several tensors, along any axis.

The function's own lines are written into a loop of the scalar unit, once: an accumulator for each tensor goes along
the axis, from the first lane, or from the last where a scan is reversed.
"""

from __future__ import annotations

from contextlib import ExitStack

import sympy

from labkit.triton import lanes, layout
from labkit.triton.forms import FLOATS, C, Index, Mask, Scalar, Text, Tile
from labkit.triton.index import symbol
from labkit.triton.kernel import Kernel, lowers
from labkit.triton.ttir import Block, Op


def known(name: str, elem: str):
    """A variable of the scalar unit as a form."""
    if elem == "i1":
        return Mask((Text(name),))
    return Scalar(name, elem) if elem in FLOATS else Index(symbol(name), elem)


def c_type(elem: str) -> str:
    return "float" if elem in FLOATS else "bool" if elem == "i1" else C[elem]


def applied(k: Kernel, block: Block, left: list[str], right: list[str]) -> list[str]:
    """The function's lines; what it gives, as C++."""
    for arg, name in zip(block.args, [*left, *right]):
        k.forms[arg] = known(name, arg.elem)
    op = k.op
    k.block(block.ops[:-1])
    k.op = op
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
            k.emit(f"{c_type(elem)} {name} = {first_lane(form, shape, axis, start)};")
        i = f"i{axis}"
        if scan:
            keep(acc, str(start))
        head = f"{i} = {start - 1}; {i} >= 0; {i}--" if back else f"{i} = 1; {i} < {shape[axis]}; {i}++"
        with k.inside(f"for (int32_t {head})"):
            now = [k.fresh("next") for _ in acc]
            for name, form, elem in zip(now, forms, elems):
                k.emit(f"const {c_type(elem)} {name} = {lanes.element(form)};")
            given = applied(k, op.blocks[0], acc, now)
            if len(acc) > 1:
                kept = [k.fresh("both") for _ in acc]
                for name, text, elem in zip(kept, given, elems):
                    k.emit(f"const {c_type(elem)} {name} = {text};")
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
                k.forms[v] = known(name, v.elem)

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
    v, names = op.result, [o.name for o in op.blocks[0].ops[:-1]]
    dims = layout.wide_dims(v.shape)
    if len(op.operands) > 1 or len(dims) != 2 or axis != dims[0] or len(names) != 1 or names[0] not in DOWN:
        return False
    if v.elem not in ("f32", "f16", "i32", "i16"):
        return False
    from labkit.triton.tiles import move, tile

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
