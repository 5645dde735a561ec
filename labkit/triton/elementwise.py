"""Instructions lane by lane: what each operation of Triton becomes on the vector unit."""

from __future__ import annotations

from collections.abc import Callable

from labkit.triton import conditions, lanes, layout, rearrange, words
from labkit.triton.forms import FLOATS, C, Index, Scalar, Tile, scalar_index
from labkit.triton.kernel import Kernel, lowers
from labkit.triton.lanes import scalar_float
from labkit.triton.tiles import at, blocks, by_rows, cast, duplicate, float_text, literal, number, ones, tile
from labkit.triton.ttir import Op, Value

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
    if isinstance(a, Tile) and not isinstance(b, Tile):
        return [f"Muls({t.var}, {a.var}, {literal(f'1.0f / static_cast<float>({b})', t.elem)}, {n});"]
    return precise_divide(k, t, args, n)


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
    "libdevice.log1p": unary("Adds({d}, {a}, 1.0f, {n});", "Ln({d}, {d}, {n});"),
}  # fmt: skip
SHORT = {"erf": "erf"}  # names of CUDA's libdevice whose last letter is their own
CONVERSIONS = (
    "arith.extf", "arith.truncf", "tt.fp_to_fp", "arith.sitofp", "arith.uitofp", "arith.fptosi", "arith.extsi",
    "arith.extui", "arith.trunci", "arith.fptoui",
)  # fmt: skip
# a number beside a tile takes a place while the tile is read
OWN_PLACE = {"arith.divf", "arith.andi", "arith.ori", "arith.xori"}
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


# GELU is y * 0.5 * (1 + tanh(c * z)) = y / (1 + exp(-2 c z)): a factor of two changes no bit. What has only such a use
# is worked out there: until then its form is that of its operand, and k.pending has the factor that belongs to it.


def is_tanh(op: Op | None) -> bool:
    return op is not None and (
        op.name == "math.tanh" or op.name == "tt.extern_elementwise" and op.str("symbol") == "__nv_tanhf"
    )


def constant(v: Value) -> float | None:
    """What a tile of one number was made of."""
    made = v.op
    while made is not None and made.name in ("tt.splat", "tt.broadcast"):
        made = made.operands[0].op
    return made.const if made is not None and made.name == "arith.constant" else None


def only_user(v: Value) -> Op | None:
    user = v.users[0] if len(v.users) == 1 and v.op is not None else None
    return user if user is not None and user.block is v.op.block and v.elem == "f32" else None


def one_more(op: Op | None) -> Value | None:
    """The tangent in 1 + tanh(u), if nothing else uses it."""
    for v, other in (op.operands, op.operands[::-1]) if op is not None and op.name == "arith.addf" else ():
        if constant(other) == 1.0 and is_tanh(v.op) and only_user(v) is op:
            return v
    return None


def times_one_more(op: Op | None) -> tuple[Value, Value] | None:
    """(y, 1 + tanh(u)) of their product, if nothing else uses the sum."""
    for y, v in (op.operands, op.operands[::-1]) if op is not None and op.name == "arith.mulf" else ():
        if one_more(v.op) is not None and only_user(v) is op:
            return y, v
    return None


def put_off(k: Kernel, op: Op, form: Tile, operand: Value) -> Tile | None:
    """The operand's form, where the only user of this result works it out."""
    user, v = only_user(op.result), op.result
    if user is None:
        return None
    if op.name == "arith.mulf":
        factor = next((c for o in op.operands if o is not operand and (c := constant(o)) is not None), None)
        product = times_one_more(user)
        if factor is None or operand in k.pending:
            return None
        if is_tanh(user) and one_more(only_user(user.result)) is user.result:
            k.pending[v] = float(factor)
        elif factor == 0.5 and product is not None and product[0] is v:
            k.pending[v] = 0.5
        else:
            return None
    elif is_tanh(op) and one_more(user) is v:
        k.pending[v] = -2.0 * k.pending.pop(operand, 1.0)
    elif one_more(op) is operand and operand in k.pending and times_one_more(user) is not None:
        k.pending[v] = k.pending.pop(operand)
    else:
        return None
    return form


def one_and_exp(k: Kernel, to: Tile, u: Tile, factor: float, n: int) -> None:
    k.emit(f"Muls({to.var}, {u.var}, {float_text(factor)}, {n});  // 1 + tanh(u) = 2 / (1 + exp(-2 u))")
    k.emit(f"Exp({to.var}, {to.var}, {n});")
    k.emit(f"Adds({to.var}, {to.var}, 1.0f, {n});")


def one_and_tanh(k: Kernel, to: Tile, u: Tile, factor: float, n: int) -> None:
    one_and_exp(k, to, u, factor, n)
    with k.scratch("f32", to.stored, "two") as two:
        k.emit(f"Duplicate({two.var}, 2.0f, {n});")
        k.emit(f"Div({to.var}, {two.var}, {to.var}, {n});")


def half_times(k: Kernel, op: Op, forms: list, stored: tuple[int, ...]) -> Tile | None:
    """y * (1 + tanh(u)) in one division, both of them tiles of its shape."""
    product = times_one_more(op)
    if product is None or product[1] not in k.pending or any(getattr(f, "stored", None) != stored for f in forms):
        return None
    y, u = (forms[op.operands.index(v)] for v in product)
    halved, factor, n = k.pending.pop(product[0], 1.0) == 0.5, k.pending.pop(product[1]), layout.count(stored)
    if k.last.get(product[1]) is op and u.place.kind == "buf":
        k.drop(product[1])  # y stays: it is read behind the exponential
    to = k.result(op.result, "f32", stored)
    one_and_exp(k, to, u, factor, n)
    if halved:
        k.emit(f"Div({to.var}, {y.var}, {to.var}, {n});")
        return to
    with k.scratch("f32", stored, "twice") as twice:
        k.emit(f"Muls({twice.var}, {y.var}, 2.0f, {n});")
        k.emit(f"Div({to.var}, {twice.var}, {to.var}, {n});")
    return to


def now(k: Kernel, v: Value, form: Tile) -> Tile:
    """What was put off, in a place of its own."""
    made, n, factor = k.buffer("f32", form.stored, v.name or "late"), layout.count(form.stored), k.pending.pop(v)
    if is_tanh(v.op) or one_more(v.op) is not None:
        one_and_tanh(k, made, form, factor, n)
        if is_tanh(v.op):
            k.emit(f"Adds({made.var}, {made.var}, -1.0f, {n});")
    else:
        k.emit(f"Muls({made.var}, {form.var}, {float_text(factor)}, {n});")
    return made


def compute(k: Kernel, op: Op, name: str, forms: list, stored: tuple[int, ...]) -> Tile:
    v, elem = op.result, op.result.elem
    through = elem == "bf16" or (elem == "f16" and (name.startswith(("math.", "libdevice.")) and name != "math.absf"))
    inner = "f32" if through else elem  # the vector unit has no arithmetic of bfloat16
    args, made = [], []
    if (done := half_times(k, op, forms, stored)) is not None:
        return done
    tiles = [(o, f) for o, f in zip(op.operands, forms) if isinstance(f, Tile) and f.stored == stored]
    if elem == "f32" and len(tiles) == 1 and (form := put_off(k, op, tiles[0][1], tiles[0][0])) is not None:
        return form
    if elem == "f32" and (u := one_more(op)) in k.pending:
        k.release(op, ("buf",))
        to = k.result(v, "f32", stored)
        one_and_tanh(k, to, forms[op.operands.index(u)], k.pending.pop(u), layout.count(stored))
        return to
    for i, o in enumerate(op.operands):
        if o in k.pending:
            forms[i] = now(k, o, forms[i])
            made.append(forms[i])
    beside = not through and (column_beside(k, op, name, forms, stored) or row_beside(k, op, name, forms, stored))
    if beside:
        return beside
    for f, o in zip(forms, op.operands):
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
