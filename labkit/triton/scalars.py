"""Integers, shapes and single numbers: nothing of it touches UB."""

from __future__ import annotations

import sympy

from labkit.triton import lanes, layout, rearrange
from labkit.triton.access import feeds_address
from labkit.triton.elementwise import elementwise
from labkit.triton.forms import (
    FLOATS,
    NEVER,
    C,
    Index,
    Mask,
    Not,
    Or,
    Pointer,
    Relation,
    Scalar,
    Tile,
    scalar_index,
)  # fmt: skip
from labkit.triton.index import LANES, At, Call, Div, Rem, call, is_scalar, symbol
from labkit.triton.kernel import Kernel, lowers
from labkit.triton.lanes import SIGNS
from labkit.triton.tiles import each_lane, float_text, tile
from labkit.triton.ttir import Op


@lowers("arith.constant")
def constant(k: Kernel, op: Op):
    v = op.result
    if v.elem in FLOATS:
        k.forms[v] = Scalar(float_text(float(op.const)), v.elem)
    elif v.elem == "i1":
        k.forms[v] = Mask() if op.const else NEVER
    elif v.elem in C:
        k.forms[v] = Index(sympy.Integer(int(op.const)), v.elem)
    else:
        raise k.refuse(f"a constant of type {v.elem}", "use float32")


@lowers("tt.get_program_id")
def program_id(k: Kernel, op: Op):
    k.forms[op.result] = Index(symbol(f"pid{op.int('axis')}"))


@lowers("tt.get_num_programs")
def num_programs(k: Kernel, op: Op):
    k.forms[op.result] = Index(symbol(f"grid{op.int('axis')}"))


@lowers("tt.make_range")
def make_range(k: Kernel, op: Op):
    start, end = op.int("start"), op.int("end")
    k.forms[op.result] = Index((LANES[0] if end - start > 1 else 0) + sympy.Integer(start))


# ---- shapes: lanes are renumbered


def renumber(k: Kernel, op: Op, change: dict[int, int]):
    form, shape = k.forms[op.operands[0]], op.result.shape
    if isinstance(form, Tile):
        stored = [1] * len(shape)
        for d, n in enumerate(form.stored):
            if n > 1:
                stored[change.get(d, d)] = n
        k.keep(op.result, Tile(form.var, form.elem, tuple(stored), form.place))
    elif not hasattr(form, "moved"):
        raise k.refuse(f"{op.name.replace('tt.', 'tl.')} of a product")
    else:
        k.keep(op.result, form.moved(change))


@lowers("tt.splat", "tt.unsplat")
def splat(k: Kernel, op: Op):
    form = k.forms[op.operands[0]]
    if isinstance(form, Tile):
        form = Tile(form.var, form.elem, (1,) * len(op.result.shape), form.place)
    k.keep(op.result, form)


@lowers("tt.broadcast")
def broadcast(k: Kernel, op: Op):
    renumber(k, op, {})


@lowers("tt.expand_dims")
def expand_dims(k: Kernel, op: Op):
    axis = op.int("axis")
    renumber(k, op, {d: d if d < axis else d + 1 for d in range(len(op.operands[0].shape))})


@lowers("tt.reshape")
def reshape(k: Kernel, op: Op):
    form, old, new = k.forms[op.operands[0]], op.operands[0].shape, op.result.shape
    was, becomes = ([d for d, n in enumerate(s) if n > 1] for s in (old, new))
    if [old[d] for d in was] == [new[d] for d in becomes]:
        return renumber(k, op, dict(zip(was, becomes)))
    dense = (
        isinstance(form, Tile)
        and form.stored == old
        and all(s[-1] % 64 == 0 or len([n for n in s if n > 1]) < 2 for s in (old, new))
    )
    if dense:
        return k.keep(op.result, Tile(form.var, form.elem, new, form.place))
    return rearrange.viewed(k, op)


@lowers("tt.trans")
def trans(k: Kernel, op: Op):
    form, shape = k.forms[op.operands[0]], op.operands[0].shape
    if len(shape) != 2:
        return rearrange.turned(k, op)
    if hasattr(form, "turned"):  # a matrix on its way to the cube: read the other way round
        return k.keep(op.result, form.turned())
    if not isinstance(form, Tile) or 1 in form.stored:
        return renumber(k, op, {0: 1, 1: 0})
    from labkit.triton.tiles import duplicate, each_lane, zero  # by the scalar unit

    made = k.result(op.result, form.elem, op.result.shape)
    k.access.append(f"{op.line}: turned over by the scalar unit, element by element")
    duplicate(k, made, zero(form.elem))
    k.sync("V_S")
    from labkit.triton import layout

    each_lane(
        k,
        made.stored,
        lambda at: k.emit(f"{made.var}.SetValue({at}, {form.var}.GetValue({layout.flat(form.stored, ['i1', 'i0'])}));"),
    )
    k.sync("S_V")
    k.keep(op.result, made)


@lowers("tt.addptr")
def addptr(k: Kernel, op: Op):
    p, offset = k.forms[op.operands[0]], index_of(k, k.forms[op.operands[1]], op.operands[1].shape)
    if not isinstance(p, Pointer) or not isinstance(offset, Index):
        raise k.refuse("a pointer that was loaded", "pass tensors, not tables of addresses")
    k.forms[op.result] = Pointer(p.arg, p.expr + offset.expr, p.elem)


# ---- integers


def index_of(k: Kernel, form, shape: tuple[int, ...]):
    """A tile of integers as an index: the scalar unit reads each lane back. Its place is kept to the end."""
    if not isinstance(form, Tile) or form.elem not in ("i32", "i64"):
        return form
    from labkit.triton import layout

    form.place.held += 1
    flat = sympy.sympify(layout.flat(form.stored, [str(x) for x in LANES]), {str(x): x for x in LANES})
    return Index(At(symbol(form.var), flat), form.elem)


ARITHMETIC = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": Div,
    "arith.divui": Div,
    "arith.remsi": Rem,
    "arith.remui": Rem,
    **{f"arith.{n}{s}": (lambda a, b, n=n: call(n, a, b)) for n in ("min", "max") for s in ("si", "ui")},
    "arith.shli": lambda a, b: call("shl", a, b),
    "arith.shrsi": lambda a, b: call("shr", a, b),
    "arith.shrui": lambda a, b: call("shr", a, b),
    "arith.extsi": lambda a: a,
    "arith.extui": lambda a: a,
    "arith.trunci": lambda a: a,
    "arith.index_cast": lambda a: a,
}


@lowers(*ARITHMETIC)
def integers(k: Kernel, op: Op):
    forms = [k.forms[v] for v in op.operands]
    v = op.result
    if v.elem == "i1" or any(isinstance(f, Mask) for f in forms):
        return conditions(k, op, forms)
    if any(isinstance(f, Tile) for f in forms) and not feeds_address(op):
        return elementwise(k, op)
    if op.name == "arith.muli" and v.shape and not feeds_address(op) and any(large(f) for f in forms):
        return elementwise(k, op)  # it wraps: no index
    forms = [index_of(k, f, o.shape) for f, o in zip(forms, op.operands)]
    if not all(isinstance(f, Index) for f in forms):
        return elementwise(k, op)
    source = op.operands[0].elem
    if op.name == "arith.shrui" and source in ("i32", "i64"):
        expr = call("shr" + source[1:], *(f.expr for f in forms))
    elif op.name == "arith.trunci" and v.elem in ("i8", "i16"):
        expr = call("low" + v.elem[1:], forms[0].expr)
    elif op.name == "arith.extui" and source in ("i8", "i16"):
        expr = call("from" + source[1:], forms[0].expr)
    else:
        expr = ARITHMETIC[op.name](*(f.expr for f in forms))
    expr = expr if expr.has(Div, Rem, Call, At) else sympy.expand(expr)
    wider = op.name == "arith.extsi" and v.elem == "i64" and not expr.is_Integer
    if not v.shape and (wider or (not expr.is_Atom and v.name) or expr.has(Call, Div, Rem)):
        expr = k.named(expr, v.name or "n", v.elem)
    k.forms[v] = Index(expr, v.elem)


def large(form) -> bool:
    return isinstance(form, Index) and form.expr.is_Integer and abs(int(form.expr)) >= 2**24


def conditions(k: Kernel, op: Op, forms: list):
    """Arithmetic that begins or ends with i1."""
    v = op.result
    if v.elem != "i1" and isinstance(forms[0], Mask) and op.name in ("arith.extui", "arith.extsi"):
        mask = forms[0]
        if not any(mask.varies(d) for d in range(len(v.shape))):
            name = k.named(f"({mask}) ? {1 if op.name == 'arith.extui' else -1} : 0", v.name or "flag", v.elem)
            k.forms[v] = Index(name, v.elem)
            return None
    if v.elem == "i1" and op.name == "arith.trunci" and isinstance(forms[0], Index):
        k.forms[v] = Mask((Relation(forms[0].expr, "!=", sympy.Integer(0)),))
        return None
    return elementwise(k, op)


@lowers("arith.cmpi")
def compare_integers(k: Kernel, op: Op):
    forms = [k.forms[v] for v in op.operands]
    sign = SIGNS[op.int("predicate")]
    if any(isinstance(f, Tile) for f in forms) or any(isinstance(f, Mask) for f in forms):
        return elementwise(k, op)
    a, b = forms
    if all(map(scalar_index, forms)):
        value = sympy.simplify(a.expr - b.expr) if (a.expr - b.expr).is_Number else None
        if value is not None:
            held = {
                "==": value == 0,
                "!=": value != 0,
                "<": value < 0,
                "<=": value <= 0,
                ">": value > 0,
                ">=": value >= 0,
            }[sign]
            k.forms[op.result] = Mask() if held else NEVER
            return None
    made = Relation(a.expr, sign, b.expr)
    k.forms[op.result] = Mask() if str(made) in k.held else Mask((made,))


@lowers("arith.andi", "arith.ori", "arith.xori")
def logic(k: Kernel, op: Op):
    a, b = (k.forms[v] for v in op.operands)
    name = op.name[6:-1]
    if op.result.elem != "i1":
        if isinstance(a, Index) and isinstance(b, Index):
            expr = call({"and": "and", "or": "or", "xor": "xor"}[name], a.expr, b.expr)
            k.forms[op.result] = Index(
                k.named(expr, op.result.name or "n", op.result.elem) if is_scalar(expr) else expr, op.result.elem
            )
            return None
        return elementwise(k, op)
    if isinstance(a, Mask) and isinstance(b, Mask):
        if name == "and":
            made = a & b
        elif name == "or":
            made = (
                Mask() if not a.terms or not b.terms else b if a == NEVER else a if b == NEVER else Mask((Or((a, b)),))
            )
        elif b == Mask():
            made = Mask((Not(a),))
        else:
            made = Mask((Or((a & Mask((Not(b),)), Mask((Not(a),)) & b)),))
        k.forms[op.result] = made
        return None
    return elementwise(k, op)


@lowers("llvm.intr.assume", "tt.return")
def nothing(k: Kernel, op: Op):
    return None


@lowers("ttg.barrier", "gpu.barrier", "tt.debug_barrier")
def barrier(k: Kernel, op: Op):
    k.emit("PipeBarrier<PIPE_ALL>();")


@lowers("tt.print")
def device_print(k: Kernel, op: Op):
    """A number by printf, a tile by DumpTensor, under the number of its line."""
    prefix = op.str("prefix").strip().replace('"', "'")
    if not op.operands:
        k.emit(f'printf("{prefix}\\n");')
    for v in op.operands:
        form = k.forms[v]
        if v.shape and any(form.varies(d) for d in range(len(v.shape))):
            t = tile(k, form, v.shape, v.elem)
            k.sync("V_S")
            k.emit(f"DumpTensor({t.var}, {op.line}, {layout.count(t.stored)});  // {prefix}")
            if t is not form:
                k.done(t)
            continue
        how = "%f" if v.elem in FLOATS else "%ld" if v.elem == "i64" else "%d"
        k.emit(f'printf("pid (%d, %d, %d) {prefix} {how}\\n", pid0, pid1, pid2, {lanes.element(form)});')


@lowers("tt.assert")
def device_assert(k: Kernel, op: Op):
    form, said = k.forms[op.operands[0]], op.str("message").replace('"', "'").replace("%", "%%")
    if isinstance(form, Tile):
        k.sync("V_S")
    shape = op.operands[0].shape
    stored = tuple(n if form.varies(d) else 1 for d, n in enumerate(shape))
    each_lane(k, stored, lambda _: k.emit(f'ascendc_assert(({lanes.element(form)}), "{said}\\n");'))
