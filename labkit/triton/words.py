"""Integers in UB: what the vector unit does with 16 and 32 bits, and what goes lane by lane (lanes.py)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from labkit.triton import lanes, layout
from labkit.triton.forms import C, Index, Mask, Scalar, Tile, scalar_index
from labkit.triton.index import symbol
from labkit.triton.kernel import Kernel, lowers
from labkit.triton.lanes import SIGNS
from labkit.triton.tiles import cast, duplicate, number, ones, tile
from labkit.triton.ttir import Op

SLOW = {"i8": "8 bits have no arithmetic on the vector unit", "i64": "64 bits have no arithmetic on the vector unit"}
VECTOR = {f"arith.{n}" for n in "addi subi muli minsi maxsi andi ori xori shli shrsi shrui".split()} | {
    "math.absi", "tt.mulhiui"
}  # fmt: skip


def on_integers(op: Op) -> bool:
    return op.result.elem in C and any(v.elem in lanes.UNSIGNED for v in (*op.operands, op.result))


def scalar(k: Kernel, op: Op, forms: list) -> bool:
    """One number that the scalar unit works out: True where there is a formula."""
    formula = lanes.arithmetic(k, op)
    if formula is None or not all(map(scalar_index, forms)):
        return False
    elem = op.result.elem
    name = k.fresh(op.result.name or "n")
    k.emit(f"const {C[elem]} {name} = static_cast<{C[elem]}>({formula(*map(lanes.element, forms))});")
    k.forms[op.result] = Index(symbol(name), elem)
    return True


def vector(op: Op, forms: list) -> bool:
    """Whether the vector unit has instructions for it."""
    if op.name not in VECTOR or op.result.elem not in ("i16", "i32"):
        return False
    if op.name == "tt.mulhiui":
        return op.result.elem == "i32"
    if "sh" in op.name:
        return number(forms[1], "i32") is not None
    return True


def by_lanes(k: Kernel, op: Op, forms: list, stored: tuple[int, ...]) -> None:
    formula = lanes.arithmetic(k, op)
    if formula is None:
        name = op.name.replace("arith.", "").replace("math.", "tl.math.").replace("tt.", "tl.")
        raise k.refuse(f"{name} of {op.operands[0].elem}", "convert to float32")
    why = SLOW.get(op.operands[-1].elem, f"{op.name.split('.')[1]} has no instruction")
    k.keep(op.result, lanes.lanewise(k, op, forms, stored, formula, why))


# ---- several instructions


def xor(k: Kernel, t: Tile, args: list, n: int) -> list[str]:
    """a ^ b = (a | b) - (a & b)."""
    each = layout.SIZE[t.elem] // 2
    with whole_tiles(k, t, args) as (a, b), k.scratch(t.elem, t.stored, "common") as common:
        w = {x: f"{x}.ReinterpretCast<uint16_t>()" for x in (t.var, a.var, b.var, common.var)}
        k.emit(f"And({w[common.var]}, {w[a.var]}, {w[b.var]}, {n * each});")
        k.emit(f"Or({w[t.var]}, {w[a.var]}, {w[b.var]}, {n * each});")
        k.emit(f"Sub({t.var}, {t.var}, {common.var}, {n});")
    return []


@contextmanager
def whole_tiles(k: Kernel, t: Tile, args: list) -> Iterator[list[Tile]]:
    """Numbers of the scalar unit as tiles, for as long as the `with` lasts."""
    made = []
    for x in args:
        if not isinstance(x, Tile):
            made.append(k.buffer(t.elem, t.stored, "same"))
            duplicate(k, made[-1], x)
    rest = iter(made)
    yield [x if isinstance(x, Tile) else next(rest) for x in args]
    for x in made:
        k.done(x)


def high_word(k: Kernel, t: Tile, args: list, n: int) -> list[str]:
    """The upper 32 bits of an unsigned product, from four products of 16 bits."""
    k.helpers.add("UpperProduct")
    with ExitStack() as places:
        a, b = places.enter_context(whole_tiles(k, t, args))
        x, y, z = (places.enter_context(k.scratch("i32", t.stored, name)) for name in "xyz")
        words = ", ".join(f"{v.var}.ReinterpretCast<uint32_t>()" for v in (t, a, b, x, y, z))
        k.emit(f"UpperProduct({words}, {n});")
    return []


def logical_right(k: Kernel, t: Tile, args: list, n: int) -> list[str]:
    u = lanes.UNSIGNED[t.elem]
    to, of = (f"{x.var}.ReinterpretCast<{u}>()" for x in (t, args[0]))
    return [f"ShiftRight({to}, {of}, static_cast<{u}>({args[1]}), {n});"]


def absolute(k: Kernel, t: Tile, args: list, n: int) -> list[str]:
    with k.scratch(t.elem, t.stored, "minus") as minus:
        k.emit(f"Muls({minus.var}, {args[0].var}, static_cast<{C[t.elem]}>(-1), {n});")
        k.emit(f"Max({t.var}, {args[0].var}, {minus.var}, {n});")
    return []


# ---- comparisons, conversions, bits


def order(k: Kernel, op: Op, a, b, stored: tuple[int, ...]) -> Tile:
    """Bits of a comparison of 16 or 32 bits: of the larger one and an operand only whether they are equal is asked, a
    difference would overflow."""
    elem, sign = op.operands[0].elem, SIGNS[op.int("predicate")]
    n, made = layout.count(stored), []

    def own(f):
        t = tile(k, f, stored, elem)
        if t is not f and not (isinstance(f, Tile) and t.place is f.place):
            made.append(t)
        return t

    x, y = own(a), own(b)
    if op.int("predicate") > 5:  # without signs: the order of what lies half the range lower
        lowest = f"static_cast<{C[elem]}>({-(2 ** (lanes.BITS[elem] - 1))})"
        below = [k.buffer(elem, stored, "shifted") for _ in "xy"]
        for to, of in zip(below, (x, y)):
            k.emit(f"Adds({to.var}, {of.var}, {lowest}, {n});")
        made += below
        x, y = below
    rest = k.buffer(elem, stored, "rest")
    if sign in ("==", "!="):
        k.emit(f"Sub({rest.var}, {x.var}, {y.var}, {n});")
    else:
        k.emit(f"Max({rest.var}, {x.var}, {y.var}, {n});")
        k.emit(f"Sub({rest.var}, {rest.var}, {(x if sign in ('>=', '<') else y).var}, {n});")
    wide = k.buffer("f32", stored, "wide")
    cast(k, wide, rest)
    to = k.buffer("i1", stored, op.result.name or "bits")
    mode = "EQ" if sign in ("==", ">=", "<=") else "NE"
    k.emit(f"CompareScalar({to.var}, {wide.var}, 0.0f, CMPMODE::{mode}, {layout.whole(stored)});")
    for t in (*made, rest, wide):
        k.done(t)
    return to


def compared(k: Kernel, op: Op, forms: list, stored: tuple[int, ...]) -> Tile:
    elem, predicate = op.operands[0].elem, op.int("predicate")
    if elem in ("i16", "i32"):
        return order(k, op, *forms, stored)
    t, why = lanes.UNSIGNED[elem] if predicate > 5 else C[elem], SLOW[elem].replace("arithmetic", "comparison")
    return lanes.lanewise(k, op, forms, stored, lambda a, b: f"({t}({a}) {SIGNS[predicate]} {t}({b}))", why)


def signless(op: Op) -> bool:
    """A conversion that the vector unit's casts, which know signs and saturate, do not give."""
    of, to, name = op.operands[0].elem, op.result.elem, op.name
    if name in ("arith.extui", "arith.uitofp"):
        return of in ("i16", "i32", "i64")
    if name == "arith.fptoui":
        return True
    return name == "arith.trunci" and of == "i64" or to == "i64" and name == "arith.sitofp"


def without_sign(k: Kernel, to: Tile, of: Tile) -> None:
    """8 bits as 0 to 255."""
    with k.scratch("f16", of.stored, "by") as middle:
        k.emit(
            f"Cast({middle.var}, {of.var}.ReinterpretCast<uint8_t>(), RoundMode::CAST_NONE, {layout.count(of.stored)});"
        )
        cast(k, to, middle)


def wrapped(k: Kernel, of: Tile, elem: str) -> Tile:
    """Its lower 8 or 16 bits with their sign, still in its own type: a cast would saturate."""
    made, shift = k.buffer(of.elem, of.stored, "lower"), lanes.BITS[of.elem] - lanes.BITS[elem]
    n = layout.count(of.stored)
    k.emit(f"ShiftLeft({made.var}, {of.var}, static_cast<{C[of.elem]}>({shift}), {n});")
    k.emit(f"ShiftRight({made.var}, {made.var}, static_cast<{C[of.elem]}>({shift}), {n});")
    return made


@lowers("tt.bitcast")
def bitcast(k: Kernel, op: Op) -> None:
    from dataclasses import replace

    from labkit.triton.forms import FLOATS, BlockPointer, Pointer

    v, form, source = op.result, k.forms[op.operands[0]], op.operands[0].elem
    if isinstance(form, (Pointer, BlockPointer)):
        elem = v.elem.removeprefix("!tt.ptr<").split(">")[0].split(",")[0]
        if {elem, form.elem} <= {"i1", "i8"}:
            k.forms[v] = replace(form, elem="i8")
            return None
        if elem not in C or layout.SIZE[elem] != layout.SIZE[form.elem]:
            raise k.refuse(f"a pointer to {form.elem} taken for one to {elem}", "view the tensor before the launch")
        k.casts.add((form.arg, elem))
        k.forms[v] = replace(form, arg=f"{form.arg}As{elem.capitalize()}", elem=elem)
        return None
    if v.elem == source or (v.elem == "i8" and isinstance(form, Index)):
        return k.keep(v, form)
    if isinstance(form, Scalar) or scalar_index(form):
        k.helpers.add("BitsAs")
        text = lanes.element(form)
        if source in ("f16", "bf16"):
            text = lanes.written(text, source)
        name = k.fresh(v.name or "bits")
        text = f"BitsAs<{C[v.elem]}>({text})"
        if v.elem in FLOATS:
            text = {"f16": f"static_cast<float>({text})", "bf16": f"ToFloat({text})"}.get(v.elem, text)
            k.emit(f"const float {name} = {text};")
            k.forms[v] = Scalar(name, v.elem)
        else:
            k.emit(f"const {C[v.elem]} {name} = {text};")
            k.forms[v] = Index(symbol(name), v.elem)
        return None
    stored = tuple(n if form.varies(d) else 1 for d, n in enumerate(v.shape))
    t = tile(k, form, stored, source)
    name = k.fresh(v.name or "bits")
    k.emit(f"LocalTensor<{C[v.elem]}> {name} = {t.var}.ReinterpretCast<{C[v.elem]}>();")
    return k.keep(v, Tile(name, v.elem, stored, t.place))


def chosen(k: Kernel, op: Op, forms: list, stored: tuple[int, ...]) -> Tile:
    """tl.where of 8 or 64 bits."""
    why = SLOW[op.result.elem].replace("arithmetic", "selection")
    return lanes.lanewise(k, op, forms, stored, lambda m, a, b: f"({m} ? {a} : {b})", why)


def chosen_bits(k: Kernel, op: Op, forms: list, stored: tuple[int, ...]) -> Tile:
    """tl.where of conditions: by 1.0 and 0.0."""
    mask, a, b = (tile(k, f, stored, "i1") for f in forms)
    x, y = ones(k, a), ones(k, b)
    k.emit(f"Select({x.var}, {mask.var}, {x.var}, {y.var}, SELMODE::VSEL_TENSOR_TENSOR_MODE, {layout.whole(stored)});")
    k.done(y)
    for t, f in zip((mask, a, b), forms):
        if isinstance(f, Mask):
            k.done(t)
    return lanes.as_bits(k, x, op.result.name)
