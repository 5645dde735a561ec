"""Conditions of lanes, and what is chosen by them."""

from __future__ import annotations

from labkit.triton import lanes, layout, memory, words
from labkit.triton.forms import Index, Mask, Relation, Scalar, Tile
from labkit.triton.kernel import Kernel, lowers
from labkit.triton.lanes import SIGNS, float_sign
from labkit.triton.tiles import MODE, both, cast, move, negate, number, ones, tile
from labkit.triton.ttir import Op

FLIP = {"GT": "LT", "LT": "GT", "GE": "LE", "LE": "GE", "EQ": "EQ", "NE": "NE"}


def compare(k: Kernel, op: Op, forms: list, stored: tuple[int, ...]) -> None:
    elem = op.operands[0].elem
    if elem == "i1":
        return different(k, op, forms, stored)
    if elem in lanes.UNSIGNED:
        return k.keep(op.result, words.compared(k, op, forms, stored))
    mode = MODE[SIGNS[op.int("predicate")] if op.name == "arith.cmpi" else float_sign(k, op)]
    a, b = forms
    if number(a, elem) is not None:
        a, b, mode = b, a, FLIP[mode]
    made = []

    def own(f):
        t = tile(k, f, stored, elem)
        if t is not f and not (isinstance(f, Tile) and t.place is f.place):
            made.append(t)
        return t

    x, y = own(a), number(b, elem)
    y = y if y is not None else own(b)
    if elem not in ("f32", "f16"):
        wide = [k.buffer("f32", stored, "wide") if isinstance(t, Tile) else None for t in (x, y)]  # bfloat16
        for to, of in zip(wide, (x, y)):
            if to is not None:
                cast(k, to, of)
                made.append(to)
        x, y = wide[0], wide[1] or f"ToFloat({y})"
    to = k.result(op.result, "i1", stored)
    rest = f"CMPMODE::{mode}, {layout.whole(stored)});"
    k.emit(
        f"Compare({to.var}, {x.var}, {y.var}, {rest}"
        if isinstance(y, Tile)
        else f"CompareScalar({to.var}, {x.var}, {y}, {rest}"
    )
    for t in made:
        k.done(t)
    k.keep(op.result, to)


def different(k: Kernel, op: Op, forms: list, stored: tuple[int, ...]) -> None:
    """Conditions that are compared: by what each is worth."""
    x, y = (ones(k, tile(k, f, stored, "i1")) for f in forms)
    to = k.buffer("i1", stored, op.result.name or "bits")
    mode = MODE[SIGNS[op.int("predicate")]]
    k.emit(f"Compare({to.var}, {x.var}, {y.var}, CMPMODE::{mode}, {layout.whole(stored)});")
    k.done(x)
    k.done(y)
    k.keep(op.result, to)


def logic(k: Kernel, op: Op, forms: list, stored: tuple[int, ...]) -> None:
    """Conditions of which one lies in UB."""
    a, b = (tile(k, f, stored, "i1") for f in forms)
    to = k.buffer("i1", stored, op.result.name or "bits")
    if op.name == "arith.xori":
        with k.scratch("i1", stored, "other") as other:  # (a or b) and not (a and b)
            both(k, "And", other, a, b)
            negate(k, other, other)
            both(k, "Or", to, a, b)
            both(k, "And", to, to, other)
    elif op.name in ("arith.andi", "arith.ori"):
        both(k, {"arith.andi": "And", "arith.ori": "Or"}[op.name], to, a, b)
    else:
        raise k.refuse(f"{op.name} of conditions", "use & and |")
    for t, f in ((a, forms[0]), (b, forms[1])):
        if t is not f:
            k.done(t)
    k.keep(op.result, to)


def replaced_outside(k: Kernel, op: Op, of: Tile, value: str, part: tuple[str, str], stored) -> Tile:
    """A tile whose first rows and columns stay: no lane is compared."""
    v, to = op.result, tile(k, of, stored, op.result.elem)
    if part == (str(layout.rows(stored)), str(layout.width(stored))):
        return to
    if to.place is of.place:  # not widened: it may have other readers
        k.release(op, ("buf",))
        source, to = to, k.result(v, v.elem, stored)
        if to.place is not source.place:
            move(k, to, source)
    memory.fill_rest(k, to, value, *part)
    return to


@lowers("arith.select")
def select(k: Kernel, op: Op) -> None:
    from labkit.triton.access import feeds_address
    from labkit.triton.index import Where, call, symbol

    mask, a, b = (k.forms[o] for o in op.operands)
    v, elem = op.result, op.result.elem
    if isinstance(mask, Mask) and not mask.terms:
        return k.keep(v, a)
    if isinstance(a, Index) and isinstance(b, Index) and isinstance(mask, Mask):
        expr = call("choose", symbol(f"({mask})"), a.expr, b.expr)
        lanes = any(mask.varies(d) or a.varies(d) or b.varies(d) for d in range(len(v.shape)))
        if not lanes:
            k.forms[v] = Index(k.named(expr, v.name or "chosen", elem), elem)
            return None
        if feeds_address(op) and len(mask.terms) == 1 and isinstance(term := mask.terms[0], Relation):
            difference, sign = term.left - term.right, term.sign  # a and b as they are where it is negative, or not
            if sign in ("<", "<=", ">", ">="):
                a, b = (a, b) if sign[0] == "<" else (b, a)
                k.forms[v] = Index(Where(difference - (1 if sign in ("<=", ">") else 0), a.expr, b.expr), elem)
                return None
    same = isinstance(mask, Mask) and not any(mask.varies(d) for d in range(max(len(v.shape), 1)))
    if same and isinstance(a, Scalar) and isinstance(b, Scalar):
        name = k.fresh(v.name or "chosen")
        k.emit(f"const float {name} = {mask} ? {a.text} : {b.text};")
        k.forms[v] = Scalar(name, elem)
        return None
    if elem == "i1":
        if isinstance(mask, Mask) and isinstance(a, Mask) and isinstance(b, Mask):
            from labkit.triton.forms import Not, Or

            k.forms[v] = Mask((Or((mask & a, Mask((Not(mask),)) & b)),))
            return None
        stored = tuple(n if any(f.varies(d) for f in (mask, a, b)) else 1 for d, n in enumerate(v.shape))
        return k.keep(v, words.chosen_bits(k, op, [mask, a, b], stored))
    stored = tuple(n if any(f.varies(d) for f in (mask, a, b)) else 1 for d, n in enumerate(v.shape))
    if elem in ("i8", "i64"):
        return k.keep(v, words.chosen(k, op, [mask, a, b], stored))
    if (rest := number(b, elem)) is not None and isinstance(a, Tile) and isinstance(mask, Mask):
        if part := memory.rectangle(k, mask, stored):
            return k.keep(v, replaced_outside(k, op, a, rest, part, stored))
    made = []

    def own(form, kind):
        t = tile(k, form, stored, kind)
        if t is not form and not (isinstance(form, Tile) and t.place is form.place):
            made.append(t)
        return t

    bits_, x = own(mask, "i1"), own(a, elem)
    plain = number(b, elem) if elem in ("f32", "f16") else None
    y = None if plain is not None else own(b, elem)
    to = k.result(v, elem, stored)
    as_float = {
        "i32": ".ReinterpretCast<float>()",
        "i16": ".ReinterpretCast<half>()",
        "bf16": ".ReinterpretCast<half>()",
    }.get(elem, "")
    n = layout.whole(stored)
    if y is None:
        k.emit(f"Select({to.var}, {bits_.var}, {x.var}, {plain}, SELMODE::VSEL_TENSOR_SCALAR_MODE, {n});")
    else:
        words_ = ", ".join([to.var + as_float, bits_.var, x.var + as_float, y.var + as_float])
        k.emit(f"Select({words_}, SELMODE::VSEL_TENSOR_TENSOR_MODE, {n});")
    for t in made:
        k.done(t)
    k.keep(v, to)
