"""Integers, shapes and single numbers: nothing of it touches UB."""

from __future__ import annotations

import re

import sympy

from labkit.triton import lanes, layout, rearrange
from labkit.triton.access import feeds_address
from labkit.triton.elementwise import elementwise
from labkit.triton.forms import (
    FLOATS,
    INTEGERS,
    NEVER,
    SIZE,
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
from labkit.triton.index import LANES, At, Call, Div, Rem, call, is_scalar, natural, symbol
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

UNSIGNED = {"arith.divui": "udiv", "arith.remui": "urem", "arith.minui": "min", "arith.maxui": "max"}


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
    elif op.name == "arith.shrui" and source in ("i8", "i16"):
        expr = call("shr", call("from" + source[1:], forms[0].expr), forms[1].expr)
    elif op.name == "arith.trunci" and (v.elem in ("i8", "i16") or (v.elem == "i32" and is_scalar(forms[0].expr))):
        expr = call("low" + v.elem[1:], forms[0].expr)
    elif op.name == "arith.extui" and (source in ("i8", "i16") or not natural(forms[0].expr)):
        expr = call("from" + source[1:], forms[0].expr)
    elif op.name in UNSIGNED and not all(natural(f.expr) for f in forms):
        expr = call(UNSIGNED[op.name], *(call("from" + source[1:], f.expr) for f in forms))
    else:
        expr = ARITHMETIC[op.name](*(f.expr for f in forms))
    expr = expr if expr.has(Div, Rem, Call, At) else sympy.expand(expr)
    if v.elem in ("i8", "i16") and op.name in WRAPPING:
        expr = wrapped(expr, int(v.elem[1:]))
    wider = op.name == "arith.extsi" and v.elem == "i64" and not expr.is_Integer
    if not v.shape and (wider or (not expr.is_Atom and v.name) or expr.has(Call, Div, Rem)):
        expr = k.named(expr, v.name or "n", v.elem)
    k.forms[v] = Index(expr, v.elem)


WRAPPING = ("arith.addi", "arith.subi", "arith.muli", "arith.shli")


def wrapped(expr: sympy.Expr, bits: int) -> sympy.Expr:
    """What a type of so few bits keeps of it."""
    if expr.is_Integer:
        return sympy.Integer((int(expr) + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1))
    return call(f"low{bits}", expr)


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


UNSIGNED_FROM = 6  # of cmpi's predicates, the first that compares numbers without a sign


def exclusive(a: Mask, b: Mask) -> Mask:
    """One of both."""
    return Mask((Not(a),)) if b == Mask() else Mask((Or((a & Mask((Not(b),)), Mask((Not(a),)) & b)),))


@lowers("arith.cmpi")
def compare_integers(k: Kernel, op: Op):
    forms = [k.forms[v] for v in op.operands]
    sign = SIGNS[op.int("predicate")]
    if all(isinstance(f, Mask) for f in forms) and not op.result.shape and sign in ("==", "!="):
        other = exclusive(*forms)
        k.forms[op.result] = other if sign == "!=" else Mask((Not(other),))
        return None
    if any(isinstance(f, Tile) for f in forms) or any(isinstance(f, Mask) for f in forms):
        return elementwise(k, op)
    a, b = forms
    if op.int("predicate") >= UNSIGNED_FROM and not all(natural(f.expr) for f in forms):
        if not all(map(scalar_index, forms)):
            return elementwise(k, op)
        a, b = (Index(call("from" + op.operands[0].elem[1:], f.expr), f.elem) for f in forms)
    elif all(map(scalar_index, forms)):
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
        else:
            made = exclusive(a, b)
        k.forms[op.result] = made
        return None
    return elementwise(k, op)


@lowers("llvm.intr.assume", "tt.return")
def nothing(k: Kernel, op: Op):
    return None


@lowers("ttg.barrier", "gpu.barrier", "tt.debug_barrier")
def barrier(k: Kernel, op: Op):
    k.emit("PipeBarrier<PIPE_ALL>();")


def literal(text: str) -> str:
    """For a format between quotation marks in C++."""
    plain = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "%": "%%"}
    octal = {c: "".join(f"\\{byte:03o}" for byte in c.encode()) for c in set(text) if not c.isprintable()}
    return "".join(plain.get(c, octal.get(c, c)) for c in text)


@lowers("tt.print")
def device_print(k: Kernel, op: Op):
    """A number by printf, a tile by DumpTensor, under the number of its line; conditions by printf, lane by lane."""
    said = op.str("prefix").strip()
    note = " ".join(said.split()).rstrip("\\")  # behind // a backslash at the end would join the next line
    signs = re.search(r"isSigned = array<i32: ([-\d, ]+)>", op.text)
    unsigned = [s.strip() == "0" for s in signs[1].split(",")] if signs else []
    hexadecimal = bool(op.handle.get_bool_attr("hex"))
    if not op.operands:
        k.emit(f'printf("{literal(said)}\\n");')
    for i, v in enumerate(op.operands):
        form = k.forms[v]
        if isinstance(form, Pointer) or v.elem not in C:
            raise k.refuse("tl.device_print of a pointer", "print what is there: tl.load(pointer)")
        plain = v.elem in INTEGERS and any(unsigned[i : i + 1])
        if v.shape and any(form.varies(d) for d in range(len(v.shape))):
            if v.elem == "i1":
                _print_lanes(k, form, v.shape, said)
                continue
            t = tile(k, form, v.shape, v.elem)
            k.sync("V_S")
            seen = f"{t.var}.ReinterpretCast<u{C[v.elem]}>()" if plain else t.var
            k.emit(f"DumpTensor({seen}, {op.line}, {layout.count(t.stored)});  // {note}")
            if t is not form:
                k.done(t)
            continue
        value = lanes.element(form)
        if plain or (hexadecimal and v.elem in INTEGERS):
            value = f"static_cast<u{C[v.elem]}>({value})"
        how = "%f" if v.elem in FLOATS else f"%{'l' if v.elem == 'i64' else ''}{'u' if plain else 'd'}"
        if hexadecimal and v.elem in INTEGERS:
            how = f"0x%0{2 * SIZE[v.elem]}{'l' if v.elem == 'i64' else ''}x"
        k.emit(f'printf("pid (%d, %d, %d) {literal(said)} {how}\\n", pid0, pid1, pid2, {value});')


def _print_lanes(k: Kernel, form, shape: tuple[int, ...], said: str) -> None:
    stored = tuple(n if form.varies(d) else 1 for d, n in enumerate(shape))
    at = [f"i{d}" for d in layout.wide_dims(stored)]
    if isinstance(form, Tile):
        k.sync("V_S")
    words = f"pid (%d, %d, %d) idx ({', '.join('%d' for _ in at)}) {literal(said)} %d"
    values = ", ".join(["pid0", "pid1", "pid2", *at, f"static_cast<int32_t>({lanes.element(form)})"])
    each_lane(k, stored, lambda _: k.emit(f'printf("{words}\\n", {values});'))


@lowers("tt.assert")
def device_assert(k: Kernel, op: Op):
    form, said = k.forms[op.operands[0]], literal(op.str("message"))
    if isinstance(form, Tile):
        k.sync("V_S")
    shape = op.operands[0].shape
    stored = tuple(n if form.varies(d) else 1 for d, n in enumerate(shape))
    each_lane(k, stored, lambda _: k.emit(f'ascendc_assert(({lanes.element(form)}), "{said}\\n");'))
