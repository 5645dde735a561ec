"""Whatever a value is known as, as a tile in UB that an instruction can take: widened, counted up, compared."""

from __future__ import annotations

import math

from labkit.triton import layout
from labkit.triton.forms import FLOATS, INTEGERS, NEVER, C, Index, Mask, Not, Or, Relation, Scalar, Text, Tile
from labkit.triton.index import LANES, Call, affine, cpp, is_scalar
from labkit.triton.kernel import Kernel

MODE = {"<": "LT", "<=": "LE", ">": "GT", ">=": "GE", "==": "EQ", "!=": "NE"}
ROWS_AT_ONCE = 248  # of helpers that count rows in repeats


def literal(text: str, elem: str) -> str:
    """A number of the scalar unit as an instruction's operand."""
    if elem == "f32":
        return text
    if elem == "bf16":
        return f"ToBfloat16({text})"
    return f"static_cast<{C[elem]}>({text})"


def float_text(x: float) -> str:
    if math.isnan(x):
        return '__builtin_nanf("")'
    if math.isinf(x):
        return "-__builtin_inff()" if x < 0 else "__builtin_inff()"
    return f"{x!r}f"


def zero(elem: str) -> str:
    return literal("0.0f" if elem in FLOATS else "0", elem)


def number(form, elem: str) -> str | None:
    """A form that is the same in every lane, as an operand; None for others."""
    if isinstance(form, Scalar):
        return literal(form.text, elem)
    if isinstance(form, Index) and is_scalar(form.expr):
        return (
            literal(cpp(form.expr), elem)
            if elem in INTEGERS
            else literal(f"static_cast<float>({cpp(form.expr)})", elem)
        )
    return None


def stored_of(form, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n if form.varies(d) else 1 for d, n in enumerate(shape))


def duplicate(k: Kernel, to: Tile, value: str, count: int | None = None) -> None:
    """The same number everywhere; the unit has no such instruction for 8 and 64 bits, there it is made of zeros."""
    n = count or layout.count(to.stored)
    if to.elem == "i1":
        word = "0xFFFF" if value == "true" else "0"
        words = layout.whole(to.stored) // 16
        k.emit(f"Duplicate({to.var}.ReinterpretCast<uint16_t>(), static_cast<uint16_t>({word}), {words});")
    elif to.elem == "i8" and value != "static_cast<int8_t>(0)":
        twice = f"static_cast<int16_t>(static_cast<uint8_t>({value}) * 0x0101)"
        k.emit(f"Duplicate({to.var}.ReinterpretCast<int16_t>(), {twice}, {-(-n // 2)});")
    elif to.elem == "i64" and value != "static_cast<int64_t>(0)":
        k.sync("V_S")
        k.emit(f"for (int32_t n = 0; n < {n}; n++) {to.var}.SetValue(n, {value});")
        k.sync("S_V")
    elif to.elem in ("i8", "i64"):
        pairs = layout.size(to.stored, to.elem) // 2
        k.emit(f"Duplicate({to.var}.ReinterpretCast<int16_t>(), static_cast<int16_t>(0), {pairs});")
    else:
        k.emit(f"Duplicate({to.var}, {value}, {n});")


def tile(k: Kernel, form, stored: tuple[int, ...], elem: str) -> Tile:
    """In UB, with these lanes. What is made anew is nobody's: give it back with k.done."""
    stored = tuple(stored)
    if isinstance(form, Tile):
        return form if form.stored == stored else widen(k, form, stored)
    if isinstance(form, Mask):
        return bits(k, form, stored)
    if isinstance(form, Index) and not is_scalar(form.expr):
        return counted(k, form, stored, elem)
    value = number(form, elem)
    if value is None:
        raise k.refuse(f"{type(form).__name__.lower()} as a tile")
    made = k.buffer(elem, stored, "same")
    duplicate(k, made, value)
    return made


def widen(k: Kernel, t: Tile, stored: tuple[int, ...]) -> Tile:
    """A row over all rows, a column over all columns."""
    narrow, wide = layout.wide_dims(t.stored), layout.wide_dims(stored)
    if any(n not in (1, stored[d]) for d, n in enumerate(t.stored)):
        raise k.refuse(f"a tile of {t.stored} where one of {stored} is worked on")
    if narrow == wide:
        return Tile(t.var, t.elem, stored, t.place)
    if t.elem in ("i8", "i64") or (len(wide) != 2 and narrow and t.elem != "i1"):
        made = k.buffer(t.elem, stored, "wide")
        if layout.width(stored) != layout.pitch(stored):
            duplicate(k, made, zero(t.elem))
        k.emit("// widened lane by lane by the scalar unit")
        k.sync("V_S")
        of = layout.flat(t.stored, [str(x) for x in LANES])
        each_lane(k, stored, lambda at: k.emit(f"{made.var}.SetValue({at}, {t.var}.GetValue({of}));"))
        k.sync("S_V")
        return made
    if t.elem == "i1":
        number_tile = ones(k, t)
        full = widen(k, number_tile, stored)
        k.done(number_tile)
        made = k.buffer("i1", stored, "bits")
        k.emit(f"CompareScalar({made.var}, {full.var}, 0.0f, CMPMODE::NE, {layout.whole(stored)});")
        k.done(full)
        return made
    made = k.buffer(t.elem, stored, "wide")
    tall, pitch = layout.rows(stored), layout.pitch(stored)
    if not narrow:
        k.sync("V_S")
        k.emit(f"Duplicate({made.var}, {t.var}.GetValue(0), {layout.count(stored)});")
    elif narrow == wide[1:]:
        k.shared.add("RepeatRow")
        words = ".ReinterpretCast<int16_t>()" if t.elem == "bf16" else ""
        if layout.width(stored) != pitch:  # behind the row's end lies nothing that may be read
            source = k.buffer(t.elem, stored[:-1] + (pitch,), "row")
            duplicate(k, source, zero(t.elem), pitch)
            k.emit(
                f"Adds({source.var}{words}, {t.var}{words}, static_cast<{'int16_t' if words else C[t.elem]}>(0), "
                f"{layout.width(stored)});"
            )
            k.emit(f"RepeatRow({made.var}{words}, {source.var}{words}, {tall}, {pitch});")
            k.done(source)
        else:
            k.emit(f"RepeatRow({made.var}{words}, {t.var}{words}, {tall}, {pitch});")
    elif t.elem in ("f32", "i32"):
        k.shared |= {"WidenColumn", "Spread"}
        with blocks(k, t, tall) as spread:
            by_rows(
                k, tall, lambda r, n: f"WidenColumn({made.var}{at(r, pitch)}, {spread.var}{at(r, 8)}, {n}, {pitch});"
            )
    else:
        with k.scratch("f32", t.stored, "column") as column:
            cast(k, column, t)
            full = widen(k, column, stored)
        cast(k, made, full)
        k.done(full)
    return made


def at(row: str, pitch: int) -> str:
    return "" if row == "0" else f"[{row} * {pitch}]"


def by_rows(k: Kernel, tall: int, line) -> None:
    """Rows in as many pieces as one instruction's repeats ask for."""
    if tall <= ROWS_AT_ONCE:
        k.emit(line("0", str(tall)))
        return
    with k.inside(f"for (uint32_t r = 0; r < {tall}; r += {ROWS_AT_ONCE})"):
        k.emit(line("r", f"LeastOf({ROWS_AT_ONCE}, {tall} - r)"))


class blocks:
    """A column as blocks of eight equal numbers, for as long as the `with` lasts."""

    def __init__(self, k: Kernel, column: Tile, tall: int):
        self.k, self.column, self.tall = k, column, tall

    def __enter__(self) -> Tile:
        k, whole = self.k, -(-self.tall // 8) * 8
        self.made = k.buffer(self.column.elem, (whole * 8,), "blocks")
        k.shared.add("Spread")
        by_rows(
            k,
            self.tall,
            lambda r, n: f"Spread({self.made.var}{at(r, 8)}, {self.column.var}{'' if r == '0' else '[r]'}, {n});",
        )
        return self.made

    def __exit__(self, *_):
        self.k.done(self.made)


CASTS = {  # where the unit has one instruction for it
    ("f16", "f32"): "CAST_NONE", ("bf16", "f32"): "CAST_NONE", ("f32", "f16"): "CAST_RINT",
    ("f32", "bf16"): "CAST_RINT", ("i32", "f32"): "CAST_RINT", ("f32", "i32"): "CAST_TRUNC",
    ("i16", "f32"): "CAST_NONE", ("f32", "i16"): "CAST_TRUNC",
    ("i8", "f16"): "CAST_NONE", ("f16", "i8"): "CAST_TRUNC", ("i16", "f16"): "CAST_RINT", ("f16", "i16"): "CAST_TRUNC",
    ("i32", "i64"): "CAST_NONE", ("i64", "i32"): "CAST_NONE", ("i32", "i16"): "CAST_NONE", ("f16", "i32"): "CAST_TRUNC",
    ("bf16", "i32"): "CAST_TRUNC", ("i64", "f32"): "CAST_RINT", ("f32", "i64"): "CAST_TRUNC",
}  # fmt: skip
BETWEEN = ("f32", "f16", "i32")  # what a cast without an instruction goes by


def cast(k: Kernel, to: Tile, of: Tile) -> None:
    """Between any two types, by way of another where the unit has no instruction for the pair."""
    n = layout.count(of.stored)
    if to.elem == of.elem:
        move(k, to, of)
    elif of.elem in ("f32", "bf16") and to.elem == "i8":  # a half rounds: 126.9 is not 127
        with k.scratch("i32", of.stored, "whole") as whole, k.scratch("f32", of.stored, "by") as middle:
            cast(k, whole, of)
            cast(k, middle, whole)
            with k.scratch("f16", of.stored, "half") as narrow:
                cast(k, narrow, middle)
                k.emit(f"Cast({to.var}, {narrow.var}, RoundMode::CAST_TRUNC, {n});")
    elif mode := CASTS.get((of.elem, to.elem)):
        k.emit(f"Cast({to.var}, {of.var}, RoundMode::{mode}, {n});")
    else:
        way = next(
            (m for m in BETWEEN if (of.elem, m) in CASTS and ((m, to.elem) in CASTS or (m, "f16") in CASTS)), None
        )
        if way is None:
            raise k.refuse(f"a conversion of {of.elem} to {to.elem}")
        with k.scratch(way, of.stored, "by") as middle:
            cast(k, middle, of)
            cast(k, to, middle)


def move(k: Kernel, to: Tile, of: Tile) -> None:
    elements = layout.whole(of.stored) // 8 if of.elem == "i1" else layout.count(of.stored)
    per_block = 32 // {"i1": 1}.get(of.elem, layout.SIZE[of.elem])
    k.emit(f"DataCopy({to.var}, {of.var}, {-(-elements // per_block) * per_block});")


def ones(k: Kernel, t: Tile) -> Tile:
    """Bits as 1.0 and 0.0."""
    n = layout.whole(t.stored)
    made = k.buffer("f32", t.stored, "ones")
    k.emit(f"Duplicate({made.var}, 1.0f, {n});")
    k.emit(f"Select({made.var}, {t.var}, {made.var}, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, {n});")
    return made


def counted(k: Kernel, form: Index, stored: tuple[int, ...], elem: str) -> Tile:
    """An index in UB: counted up by the vector unit where it is a sum of steps, else by the scalar unit."""
    far = counted_far(form)
    made = k.buffer("i64" if far and elem == "i64" else "i32", stored, "index")
    dims = layout.wide_dims(stored)
    found = affine(form.expr, len(stored))
    if found and len(dims) <= 2 and not far:
        base, steps = found
        wide, pitch = layout.width(stored), layout.pitch(stored)
        step = cpp(steps[dims[-1]]) if dims else "0"
        k.emit(
            f"Arange({made.var}, static_cast<int32_t>({cpp(base)}), static_cast<int32_t>({step}), "
            f"{pitch if len(dims) == 2 else wide});"
        )
        if len(dims) == 2:
            have, tall = 1, stored[dims[0]]
            while have < tall:  # twice as many rows each time
                n = min(have, tall - have)
                by = cpp(have * steps[dims[0]])
                k.emit(f"Adds({made.var}[{have * pitch}], {made.var}, static_cast<int32_t>({by}), {n * pitch});")
                have += n
    else:
        k.access.append(f"{k.op.line if k.op else 0}: counted by the scalar unit: {cpp(form.expr)}")
        if layout.width(stored) != layout.pitch(stored):
            duplicate(k, made, zero(made.elem))
        k.sync("V_S")
        c = C[made.elem]
        each_lane(k, stored, lambda flat: k.emit(f"{made.var}.SetValue({flat}, static_cast<{c}>({cpp(form.expr)}));"))
        k.sync("S_V")
    if elem == made.elem:
        return made
    if elem == "f32" and made.elem == "i32":  # where it lies
        number_ = Tile(k.fresh("number"), "f32", made.stored, made.place)
        k.emit(f"LocalTensor<float> {number_.var} = {made.var}.ReinterpretCast<float>();")
        cast(k, number_, made)
        return number_
    other = k.buffer(elem, stored, "index")
    cast(k, other, made)
    k.done(made)
    return other


def each_lane(k: Kernel, stored: tuple[int, ...], inner) -> None:
    """A loop of the scalar unit over all lanes."""
    dims = layout.wide_dims(stored)

    def level(i: int) -> None:
        if i == len(dims):
            inner(layout.flat(stored, [str(x) for x in LANES]))
            return
        with k.inside(f"for (int32_t i{dims[i]} = 0; i{dims[i]} < {stored[dims[i]]}; i{dims[i]}++)"):
            level(i + 1)

    level(0)


def bits(k: Kernel, mask: Mask, stored: tuple[int, ...]) -> Tile:
    """A condition of lanes as bits."""
    made: Tile | None = None
    for term in mask.terms:
        part = _term(k, term, stored)
        if made is None:
            made = part
            continue
        both(k, "And", made, made, part)
        k.done(part)
    if made is None:
        made = k.buffer("i1", stored, "bits")
        duplicate(k, made, "true")
    return made


def both(k: Kernel, name: str, to: Tile, a: Tile, b: Tile) -> None:
    words = [f"{t.var}.ReinterpretCast<uint16_t>()" for t in (to, a, b)]
    k.emit(f"{name}({', '.join(words)}, {layout.whole(to.stored) // 16});")


def negate(k: Kernel, to: Tile, a: Tile) -> None:
    words = layout.whole(to.stored) // 16
    k.emit(f"Not({to.var}.ReinterpretCast<uint16_t>(), {a.var}.ReinterpretCast<uint16_t>(), {words});")


def _term(k: Kernel, term, stored: tuple[int, ...]) -> Tile:
    if isinstance(term, Relation):
        own = stored_of(term, stored)
        difference = counted(k, Index(term.left - term.right), own, "f32")  # a float keeps the sign of an integer
        made = k.buffer("i1", own, "bits")
        k.emit(f"CompareScalar({made.var}, {difference.var}, 0.0f, CMPMODE::{MODE[term.sign]}, {layout.whole(own)});")
        k.done(difference)
        if own == stored:
            return made
        full = widen(k, made, stored)
        if full.place is not made.place:
            k.done(made)
        return full
    if isinstance(term, Not):
        made = bits(k, term.mask, stored)
        negate(k, made, made)
        return made
    if isinstance(term, Or):
        made = bits(k, term.masks[0], stored)
        for other in term.masks[1:]:
            part = bits(k, other, stored)
            both(k, "Or", made, made, part)
            k.done(part)
        return made
    made = k.buffer("i1", stored, "bits")
    if term == NEVER.terms[0]:
        duplicate(k, made, "false")
        return made
    assert isinstance(term, Text)
    n = layout.whole(stored) // 16
    k.emit(f"Duplicate({made.var}.ReinterpretCast<uint16_t>(), static_cast<uint16_t>({term.text} ? 0xFFFF : 0), {n});")
    return made


def counted_far(form: Index) -> bool:
    """Whether an index may leave 32 bits, or wraps: then it is worked out lane by lane."""
    if is_scalar(form.expr):
        return False
    numbers = [abs(int(n)) for n in form.expr.atoms() if n.is_Integer]
    return max(numbers, default=0) >= 2**24 or form.expr.has(Call)
