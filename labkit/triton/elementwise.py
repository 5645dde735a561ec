"""Instructions lane by lane: what each operation of Triton becomes on the vector unit."""

from __future__ import annotations

from collections.abc import Callable

from labkit.triton import conditions, gelu, lanes, layout, rearrange, words
from labkit.triton.forms import FLOATS, C, Index, Scalar, Tile, scalar_index
from labkit.triton.kernel import Kernel, lowers
from labkit.triton.lanes import scalar_float
from labkit.triton.tiles import at, blocks, by_rows, cast, duplicate, literal, number, ones, tile
from labkit.triton.ttir import Op

Args = list  # of Tile, or of str: a number of the scalar unit


def binary(tensor: str, scalar: str, swapped: str = ""):
    """scalar: the lines for a number on the right; swapped: on the left, where that is another thing."""

    def lines(k, t, args, n):
        a, b = args
        if isinstance(a, Tile) and isinstance(b, Tile):
            return [f"{tensor}({t.var}, {a.var}, {b.var}, {n});"]
        of, s, form = (a, b, scalar) if isinstance(a, Tile) else (b, a, swapped or scalar)
        minus = literal("-1.0f" if t.elem in FLOATS else "-1", t.elem)
        less = f"static_cast<int16_t>(-({s}))" if t.elem == "i16" else f"-({s})"
        return form.format(d=t.var, a=of.var, s=s, n=n, minus=minus, less=less).split("\n")

    return lines


def unary(*forms: str):
    return lambda k, t, args, n: [f.format(d=t.var, a=args[0].var, n=n) for f in forms]


def negative(k, t, args, n):
    return [f"Muls({t.var}, {args[0].var}, {literal('-1.0f', t.elem)}, {n});"]


def divide(k, t, args, n):
    a, b = args
    if isinstance(a, Tile) and not isinstance(b, Tile) and has_reciprocal(b):
        return [f"Muls({t.var}, {a.var}, {literal(f'1.0f / static_cast<float>({b})', t.elem)}, {n});"]
    return precise_divide(k, t, args, n)


def has_reciprocal(text: str) -> bool:
    """False for a number so tiny or so large that float32 has no normal number for its reciprocal."""
    try:
        size = abs(float(text.removesuffix("f")))
    except ValueError:
        return True  # known when the kernel runs
    return size in (0.0, float("inf")) or 2.0**-128 < size <= 2.0**126


def precise_divide(k, t, args, n):
    tiles = []
    for x in args:
        if not isinstance(x, Tile):
            same = k.buffer(t.elem, t.stored, "same")
            duplicate(k, same, x)
            k.done(same)
            x = same
        tiles.append(x)
    return [f"Div({t.var}, {tiles[0].var}, {tiles[1].var}, {n});"]


def remainder(k, t, args, n):
    with words.whole_tiles(k, t, args) as (a, b):
        k.emit(f"Fmod({t.var}, {a.var}, {b.var}, {n});")
    return []


def reciprocal_root(k, t, args, n):
    one = k.buffer("f32", t.stored, "one")
    k.done(one)
    return [
        f"Sqrt({t.var}, {args[0].var}, {n});",
        f"Duplicate({one.var}, 1.0f, {n});",
        f"Div({t.var}, {one.var}, {t.var}, {n});",
    ]


def fused(k, t, args, n):
    tiles = [x if isinstance(x, Tile) else tile(k, Scalar(x, t.elem), t.stored, t.elem) for x in args]
    with k.scratch(t.elem, t.stored, "product") as product:
        k.emit(f"Mul({product.var}, {tiles[0].var}, {tiles[1].var}, {n});")
        k.emit(f"Add({t.var}, {product.var}, {tiles[2].var}, {n});")
    for made, x in zip(tiles, args):
        if made is not x:
            k.done(made)
    return []


def clamp(k, t, args, n):
    x, low, high = args
    if any(isinstance(a, Tile) for a in (low, high)):
        raise k.refuse("tl.clamp between tiles", "use tl.minimum and tl.maximum")
    return [f"Maxs({t.var}, {x.var}, {low}, {n});", f"Mins({t.var}, {t.var}, {high}, {n});"]


def shift(name: str):
    def lines(k, t, args, n):
        if isinstance(args[1], Tile):
            raise k.refuse("a shift by a tile")
        return [f"{name}({t.var}, {args[0].var}, {args[1]}, {n});"]

    return lines


def bitwise(name: str):
    """And, Or of integers: the unit has them for 16 bits."""

    def lines(k, t, args, n):
        each = layout.SIZE[t.elem] // 2
        with words.whole_tiles(k, t, args) as tiles:
            parts = [f"{x.var}.ReinterpretCast<uint16_t>()" for x in (t, *tiles)]
            k.emit(f"{name}({', '.join(parts)}, {n * each});")
        return []

    return lines


ADD = binary("Add", "Adds({d}, {a}, {s}, {n});")
SUB = binary("Sub", "Adds({d}, {a}, {less}, {n});", "Muls({d}, {a}, {minus}, {n});\nAdds({d}, {d}, {s}, {n});")
MUL = binary("Mul", "Muls({d}, {a}, {s}, {n});")
MAX, MIN = binary("Max", "Maxs({d}, {a}, {s}, {n});"), binary("Min", "Mins({d}, {a}, {s}, {n});")
EXP, LN, SQRT, ABS = (unary(f"{f}({{d}}, {{a}}, {{n}});") for f in ("Exp", "Ln", "Sqrt", "Abs"))
RULES: dict[str, Callable] = {
    "arith.addf": ADD, "arith.addi": ADD, "arith.subf": SUB, "arith.subi": SUB, "arith.mulf": MUL, "arith.muli": MUL,
    "arith.maxnumf": MAX, "arith.maximumf": MAX, "arith.maxsi": MAX,
    "arith.minnumf": MIN, "arith.minimumf": MIN, "arith.minsi": MIN,
    "arith.negf": negative,
    "arith.divf": divide, "tt.precise_divf": precise_divide,
    "arith.shli": shift("ShiftLeft"), "arith.shrsi": shift("ShiftRight"),
    "arith.andi": bitwise("And"), "arith.ori": bitwise("Or"), "arith.xori": words.xor,
    "arith.shrui": words.logical_right,
    "tt.mulhiui": words.high_word,
    "math.exp": EXP, "math.exp2": unary("Muls({d}, {a}, 0.693147180559945f, {n});", "Exp({d}, {d}, {n});"),
    "math.log": LN, "math.log2": unary("Ln({d}, {a}, {n});", "Muls({d}, {d}, 1.44269504088896f, {n});"),
    "math.sqrt": SQRT, "tt.precise_sqrt": SQRT, "math.rsqrt": reciprocal_root,
    "math.absf": ABS, "math.absi": words.absolute, "math.fma": fused, "tt.clampf": clamp,
    **{f"math.{f.lower()}": unary(f"{f}({{d}}, {{a}}, {{n}});") for f in "Erf Tanh Sin Cos Floor Ceil".split()},
    "libdevice.exp": EXP, "libdevice.log": LN, "libdevice.sqrt": SQRT, "libdevice.rsqrt": reciprocal_root,
    "libdevice.tanh": unary("Tanh({d}, {a}, {n});"), "libdevice.erf": unary("Erf({d}, {a}, {n});"),
    "libdevice.fabs": ABS,
    **{f"libdevice.{f.lower()}": unary(f"{f}({{d}}, {{a}}, {{n}});") for f in
       "Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Digamma Erfc Floor Lgamma Log10 Sin Sinh Tan Trunc".split()},
    **{f"libdevice.{f}": unary(f"Cast({{d}}, {{a}}, RoundMode::{mode}, {{n}});") for f, mode in
       (("rint", "CAST_RINT"), ("nearbyint", "CAST_RINT"), ("round", "CAST_ROUND"))},
    "libdevice.log2": unary("Ln({d}, {a}, {n});", "Muls({d}, {d}, 1.44269504088896f, {n});"),
    "libdevice.exp2": unary("Muls({d}, {a}, 0.693147180559945f, {n});", "Exp({d}, {d}, {n});"),
    "libdevice.pow": binary("Power", "Power({d}, {a}, {s}, {n});", "Power({d}, {s}, {a}, {n});"),
    "libdevice.fmod": remainder, "arith.remf": remainder,
}  # fmt: skip
SHORT = {"erf": "erf"}  # names of CUDA's libdevice whose last letter is their own
CONVERSIONS = (
    "arith.extf", "arith.truncf", "tt.fp_to_fp", "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.extsi",
    "arith.extui", "arith.trunci", "arith.fptoui",
)  # fmt: skip
# a number beside a tile takes a place while the tile is read; Fmod must not write where it reads
OWN_PLACE = {"arith.divf", "arith.remf", "arith.andi", "arith.ori", "arith.xori"}
IN_PLACE = {n for n in RULES if n.startswith("arith.")} - OWN_PLACE
IN_PLACE |= {"math.exp", "math.log", "math.sqrt", "math.absf"}
BESIDE = {"arith.addf": "Add", "arith.subf": "Sub", "arith.mulf": "Mul", "arith.divf": "Div"}
ROWS_APART, LANES_APART = 8, 512  # from there on it costs less to widen a row than to start for each


def common(k: Kernel, op: Op, forms: list) -> tuple[int, ...]:
    """The lanes in which any operand varies: the result needs no more of them."""
    shape = op.result.shape
    return tuple(n if any(f.varies(d) for f in forms) else 1 for d, n in enumerate(shape))


@lowers(*(n for n in RULES if n.startswith(("arith.", "math.", "tt.")) and not n.endswith("i")), "arith.cmpf",
        "tt.extern_elementwise", "math.absi", "tt.mulhiui",
        *(n for n in CONVERSIONS if n.endswith(("f", "p", "fptosi", "fptoui"))))  # fmt: skip
def elementwise(k: Kernel, op: Op) -> None:
    v, forms, name = op.result, [k.forms[o] for o in op.operands], op.name
    if name == "tt.extern_elementwise":
        symbol = op.str("symbol")
        if symbol.startswith("ascendc_sort_"):
            return rearrange.sort(k, op, symbol)
        plain = symbol.removeprefix("__nv_")
        name = "libdevice." + (
            symbol[8:] if symbol.startswith("ascendc_") else SHORT.get(plain, plain.removesuffix("f"))
        )
        if name not in RULES:
            raise k.refuse(name)
    if v.elem not in C:
        raise k.refuse(f"a tile of {v.elem}", "use float32")
    if all(isinstance(f, Scalar) or scalar_index(f) for f in forms):
        if words.on_integers(op) and words.scalar(k, op, forms):
            return
        if scalar_float(k, op, forms):
            return
        single(k, op, name, forms)
        return
    stored = common(k, op, forms)
    if name in ("arith.cmpf", "arith.cmpi"):
        conditions.compare(k, op, forms, stored)
    elif name in CONVERSIONS:
        convert(k, op, forms[0], stored)
    elif v.elem == "i1":
        conditions.logic(k, op, forms, stored)
    elif words.on_integers(op) and not words.vector(op, forms):
        words.by_lanes(k, op, forms, stored)
    elif name not in RULES:
        raise k.refuse(name.replace("arith.", "").replace("tt.", "tl.") + " of tiles")
    else:
        k.keep(v, compute(k, op, name, forms, stored))


def compute(k: Kernel, op: Op, name: str, forms: list, stored: tuple[int, ...]) -> Tile:
    v, elem = op.result, op.result.elem
    through = elem == "bf16" or (elem == "f16" and (name.startswith(("math.", "libdevice.")) and name != "math.absf"))
    inner = "f32" if through else elem  # the vector unit has no arithmetic of bfloat16
    args, made = [], []
    operands, user = op.operands, gelu.only_user(v)
    if name == "arith.subf" and gelu.constant(operands[0]) == 0.0 and user is not None and user.name == "math.exp":
        name, forms, operands = "arith.negf", forms[1:], operands[1:]  # exp does not see the sign of a zero
    if (done := gelu.half_times(k, op, forms, stored) or gelu.times_reciprocal(k, op, forms, stored)) is not None:
        return done
    tiles = [(o, f) for o, f in zip(operands, forms) if isinstance(f, Tile) and f.stored == stored]
    if elem == "f32" and len(tiles) == 1 and (form := gelu.put_off(k, op, tiles[0][1], tiles[0][0])) is not None:
        return form
    if elem == "f32" and (u := gelu.one_more(op)) in k.pending:
        k.release(op, ("buf",))
        to = k.result(v, "f32", stored)
        gelu.one_and_tanh(k, to, forms[op.operands.index(u)], k.pending.pop(u), layout.count(stored))
        return to
    for i, o in enumerate(operands):
        if o in k.pending:
            forms[i] = gelu.now(k, o, forms[i])
            made.append(forms[i])
    beside = not through and (column_beside(k, op, name, forms, stored) or row_beside(k, op, name, forms, stored))
    if beside:
        for late in made:
            k.done(late)
        return beside
    for f, o in zip(forms, operands):
        if (value := number(f, inner)) is not None:
            args.append(value)
            continue
        t = tile(k, f, stored, o.elem)
        if t is not f and not (isinstance(f, Tile) and t.place is f.place):
            made.append(t)
        if through:
            wide = k.buffer("f32", stored, "wide")
            cast(k, wide, t)
            made.append(wide)
            t = wide
        args.append(t)
    if not through and name in IN_PLACE:
        k.release(op, ("buf",))
    to = k.buffer("f32", stored, "wide") if through else k.result(v, elem, stored)
    for line in RULES[name](k, to, args, layout.count(stored)):
        k.emit(line)
    for t in made:
        k.done(t)
    if through:
        narrow = k.result(v, elem, stored)
        cast(k, narrow, to)
        k.done(to)
        to = narrow
    return to


def column_beside(k: Kernel, op: Op, name: str, forms: list, stored: tuple[int, ...]) -> Tile | None:
    """A full tile and a column of it: the column goes beside the rows as blocks, nothing is widened."""
    if name not in BESIDE or op.result.elem != "f32" or not all(isinstance(f, Tile) for f in forms):
        return None
    full, column = forms
    dims = layout.wide_dims(stored)
    if full.stored != stored or len(dims) != 2 or layout.wide_dims(column.stored) != dims[:1]:
        return None
    tall, pitch = layout.rows(stored), layout.pitch(stored)
    helper = f"{BESIDE[name]}Column"
    k.shared |= {helper, "Spread"}
    with blocks(k, column, tall) as spread:
        k.release(op, ("buf",))
        to = k.result(op.result, "f32", stored)
        by_rows(
            k,
            tall,
            lambda r, n: (
                f"{helper}({to.var}{at(r, pitch)}, {full.var}{at(r, pitch)}, {spread.var}{at(r, 8)}, {n}, {pitch});"
            ),
        )
    return to


def row_beside(k: Kernel, op: Op, name: str, forms: list, stored: tuple[int, ...]) -> Tile | None:
    """A few rows and one row that goes with each of them: nothing is widened."""
    dims = layout.wide_dims(stored)
    if name not in BESIDE or op.result.elem not in ("f32", "f16") or len(dims) != 2 or stored[dims[0]] > ROWS_APART:
        return None
    if not all(isinstance(f, Tile) for f in forms) or stored[dims[1]] < LANES_APART:
        return None
    if sorted((f.stored == stored, layout.wide_dims(f.stored) == dims[1:]) for f in forms) != [
        (False, True),
        (True, False),
    ]:
        return None
    k.release(op, ("buf",))
    to, pitch = k.result(op.result, op.result.elem, stored), layout.pitch(stored)
    for r in range(stored[dims[0]]):
        at_row = at(str(r), pitch)
        each = [f"{f.var}{at_row if f.stored == stored else ''}" for f in forms]
        k.emit(f"{BESIDE[name]}({to.var}{at_row}, {', '.join(each)}, {stored[dims[1]]});")
    return to


def single(k: Kernel, op: Op, name: str, forms: list) -> None:
    """The scalar unit has no such function: the vector unit works on one block, and the number is read back."""
    if name not in RULES or op.result.elem not in ("f32", "f16", "bf16"):
        raise k.refuse(name.replace("arith.", "").replace("math.", "tl.math.") + " of single numbers")
    with k.scratch("f32", (8,), "one") as one:
        duplicate(k, one, forms[0].text, 8)
        if len(forms) > 1 and name != "tt.clampf":
            raise k.refuse(f"{name} of single numbers")
        for line in RULES[name](k, one, [one, *(f.text for f in forms[1:])], 8):
            k.emit(line)
        k.forms[op.result] = Scalar(fetch(k, one, op.result.name or "s"), op.result.elem)


def fetch(k: Kernel, t: Tile, hint: str) -> str:
    k.sync("V_S")
    name = k.fresh(hint)
    value = f"{t.var}.GetValue(0)"
    value = {"f16": f"static_cast<float>({value})", "bf16": f"ToFloat({value})"}.get(t.elem, value)
    k.emit(f"const {'float' if t.elem in ('f16', 'bf16') else C[t.elem]} {name} = {value};")
    return name


def convert(k: Kernel, op: Op, form, stored: tuple[int, ...]) -> None:
    v = op.result
    source = op.operands[0].elem
    if words.signless(op) and not (isinstance(form, Index) and v.elem == "i32"):
        return k.keep(
            v, lanes.lanewise(k, op, [form], stored, lanes.conversion(op), "a cast knows signs and saturates")
        )
    if v.elem == "i1" and source in ("i8", "i64"):
        return k.keep(v, lanes.lanewise(k, op, [form], stored, lanes.conversion(op), words.SLOW[source]))
    if v.elem == "i1":  # of what is 0 or 1
        wide = k.buffer("f32", stored, "number")
        cast(k, wide, tile(k, form, stored, source))
        to = k.buffer("i1", stored, v.name or "bits")
        k.emit(f"CompareScalar({to.var}, {wide.var}, 0.0f, CMPMODE::NE, {layout.whole(stored)});")
        k.done(wide)
        return k.keep(v, to)
    of = tile(k, form, stored, source)
    if source == "i1":
        wide = ones(k, of)
        if of is not form:
            k.done(of)
        if op.name in ("arith.extsi", "arith.sitofp"):
            k.emit(f"Muls({wide.var}, {wide.var}, -1.0f, {layout.count(stored)});")
        of, form = wide, None
    elif v.elem == source:
        return k.keep(v, of)
    if of.elem == v.elem:
        return k.keep(v, of)
    to = k.result(v, v.elem, stored)
    if source == "i8" and op.name in ("arith.extui", "arith.uitofp"):
        words.without_sign(k, to, of)
    elif op.name == "arith.trunci" and of.elem in ("i32", "i16"):
        lower = words.wrapped(k, of, v.elem)
        cast(k, to, lower)
        k.done(lower)
    else:
        cast(k, to, of)
    if of is not form and not (isinstance(form, Tile) and of.place is form.place):
        k.done(of)
    k.keep(v, to)
