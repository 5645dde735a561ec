"""Lane by lane on the scalar unit: what the vector unit has no instruction for (64 and 8 bits, quotients, any order of
elements). Right for every type, and slow: one element takes some ten cycles. The emitted text says so each time.
"""

from __future__ import annotations

from labkit.triton import layout
from labkit.triton.forms import FLOATS, C, Index, Mask, Scalar, Text, Tile
from labkit.triton.index import LANES, cpp, symbol
from labkit.triton.kernel import Kernel
from labkit.triton.tiles import duplicate, each_lane, tile, zero
from labkit.triton.ttir import Op

UNSIGNED = {"i64": "uint64_t", "i32": "uint32_t", "i16": "uint16_t", "i8": "uint8_t"}
BITS = {"i64": 64, "i32": 32, "i16": 16, "i8": 8}
NAMES = [str(x) for x in LANES]


def read(t: Tile, at: str) -> str:
    """An element as the scalar unit works with it: floats in float."""
    if t.elem == "i1":
        return f"({t.var}.GetValue(({at}) / 8) >> ({at}) % 8 & 1)"
    value = f"{t.var}.GetValue({at})"
    return {"f16": f"static_cast<float>({value})", "bf16": f"ToFloat({value})"}.get(t.elem, value)


def written(text: str, elem: str) -> str:
    return {"f32": text, "f16": f"static_cast<half>({text})", "bf16": f"ToBfloat16({text})"}.get(
        elem, f"static_cast<{C[elem]}>({text})"
    )


def element(form, lanes: list[str] = NAMES) -> str:
    """A form's value in these lanes."""
    if isinstance(form, Tile):
        return read(form, layout.flat(form.stored, lanes))
    if isinstance(form, Scalar):
        return form.text
    if isinstance(form, Index):
        return f"static_cast<{C[form.elem]}>({cpp(form.expr)})"
    return f"({form})"


def say(k: Kernel, op: Op, why: str) -> None:
    note = f"{op.line}: lane by lane on the scalar unit: {why}"
    if note not in k.access:
        k.access.append(note)
    k.emit(f"// lane by lane on the scalar unit: {why}")


def room(k: Kernel, op: Op, elem: str, stored: tuple[int, ...], hint: str = "") -> Tile:
    """A place for lanes; what lies behind the rows' ends is zero."""
    made = k.buffer(elem, stored, hint or op.result.name or "t")
    if layout.width(stored) != layout.pitch(stored):
        duplicate(k, made, zero(elem))
    return made


def as_bits(k: Kernel, number: Tile, hint: str) -> Tile:
    """1.0 and 0.0 as bits; the number's place is given back."""
    made = k.buffer("i1", number.stored, hint or "bits")
    k.emit(f"CompareScalar({made.var}, {number.var}, 0.0f, CMPMODE::NE, {layout.whole(number.stored)});")
    k.done(number)
    return made


def lanewise(k: Kernel, op: Op, forms: list, stored: tuple[int, ...], formula, why: str) -> Tile:
    """formula: of the operands' texts, C++ for the result."""
    v = op.result
    say(k, op, why)
    made = room(k, op, "f32" if v.elem == "i1" else v.elem, stored)
    k.sync("V_S")
    texts = [element(f) for f in forms]
    value = formula(*texts)
    value = f"{value} ? 1.0f : 0.0f" if v.elem == "i1" else written(value, v.elem)
    each_lane(k, stored, lambda at: k.emit(f"{made.var}.SetValue({at}, {value});"))
    k.sync("S_V")
    return as_bits(k, made, v.name) if v.elem == "i1" else made


def arithmetic(k: Kernel, op: Op):
    """The formula of an operation on integers, with C++'s and Triton's rules for signs; None where there is none."""
    name, elem = op.name.removeprefix("arith."), op.operands[-1].elem
    if op.name == "tt.mulhiui":
        if elem == "i64":
            k.helpers.add("HighWord")
            return lambda a, b: f"HighWord({a}, {b})"
        return lambda a, b: f"uint64_t(uint32_t({a})) * uint32_t({b}) >> 32"
    if elem not in UNSIGNED:
        return None
    s, u = C[elem], UNSIGNED[elem]
    if name in ("addi", "subi", "muli"):
        sign = {"addi": "+", "subi": "-", "muli": "*"}[name]
        wide = "uint64_t" if elem == "i64" else "uint32_t"
        return lambda a, b: f"{wide}({a}) {sign} {wide}({b})"
    if name in ("andi", "ori", "xori"):
        sign = {"andi": "&", "ori": "|", "xori": "^"}[name]
        return lambda a, b: f"{s}({a}) {sign} {s}({b})"
    if name in ("divsi", "remsi", "divui", "remui"):
        helper, t = ("Quotient" if "div" in name else "Rest"), (u if "u" in name else s)
        k.helpers.add(helper)
        return lambda a, b: f"{helper}<{t}>({a}, {b})"
    if name in ("shli", "shrsi", "shrui"):
        sign, t = ("<<" if name == "shli" else ">>"), (s if name == "shrsi" else u)
        return lambda a, b: f"({u}({b}) < {BITS[elem]} ? {t}({a}) {sign} {u}({b}) : {t}(0))"
    if name in ("minsi", "maxsi", "minui", "maxui"):
        sign, t = ("<" if "min" in name else ">"), (u if "u" in name else s)
        return lambda a, b: f"({t}({a}) {sign} {t}({b}) ? {a} : {b})"
    if op.name == "math.absi":
        return lambda a: f"({a} < 0 ? -{a} : {a})"
    return None


def conversion(op: Op):
    """The formula of a conversion that has integers on one side at least."""
    of, to, name = op.operands[0].elem, op.result.elem, op.name.removeprefix("arith.")
    if name in ("extui", "uitofp") and of in UNSIGNED:
        return lambda a: f"static_cast<{UNSIGNED[of]}>({a})"
    if name == "fptoui":
        return lambda a: f"static_cast<{'uint64_t' if to == 'i64' else 'int64_t'}>({a})"
    if name == "fptosi" and to in ("i8", "i16"):
        return lambda a: f"static_cast<int32_t>({a})"
    if name == "trunci" and to == "i1":
        return lambda a: f"({a} & 1)"
    return lambda a: a


def moved(k: Kernel, op: Op, source, shape: tuple[int, ...], lanes: list[str], why: str) -> Tile:
    """The result's lane (i0, i1, ...) is the source's lane `lanes`, which are C++ over i0, i1, ..."""
    v = op.result
    t = tile(k, source, tuple(shape), op.operands[0].elem)
    say(k, op, why)
    made = room(k, op, "f32" if v.elem == "i1" else v.elem, v.shape)
    k.sync("V_S")
    value = element(t, lanes)
    value = f"{value} ? 1.0f : 0.0f" if v.elem == "i1" else written(value, v.elem)
    if v.elem in ("f16", "bf16"):  # nothing is converted
        value = f"{t.var}.GetValue({layout.flat(t.stored, lanes)})"
    each_lane(k, v.shape, lambda at: k.emit(f"{made.var}.SetValue({at}, {value});"))
    k.sync("S_V")
    if t is not source:
        k.done(t)
    return as_bits(k, made, v.name) if v.elem == "i1" else made


def known(name: str, elem: str):
    """A variable of the scalar unit as a form."""
    if elem == "i1":
        return Mask((Text(name),))
    return Scalar(name, elem) if elem in FLOATS else Index(symbol(name), elem)


def c_type(elem: str) -> str:
    return "float" if elem in FLOATS else "bool" if elem == "i1" else C[elem]


# ---- single floats: always worked out in float, rounded to their own type

SIGNS = ["==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="]  # of arith.cmpi's predicates
INFIX = {"arith.addf": "+", "arith.subf": "-", "arith.mulf": "*", "arith.divf": "/", "tt.precise_divf": "/"}
PICK = {"max": ">", "min": "<"}


def rounded(text: str, elem: str) -> str:
    if elem == "f16":
        return f"static_cast<float>(static_cast<half>({text}))"
    return f"ToFloat(ToBfloat16({text}))" if elem == "bf16" else text


def scalar_float(k: Kernel, op: Op, forms: list) -> bool:
    """Where the scalar unit can do it: True."""
    v, name = op.result, op.name
    e = [f.text if isinstance(f, Scalar) else f"static_cast<float>({cpp(f.expr)})" for f in forms]
    if name in INFIX:
        text = f"{e[0]} {INFIX[name]} {e[1]}"
    elif name in ("arith.sitofp", "arith.extf"):
        text = e[0]
    elif name == "arith.uitofp":
        text = f"static_cast<float>({conversion(op)(element(forms[0]))})"
    elif name in ("arith.truncf", "tt.fp_to_fp"):
        text = e[0]
    elif name in ("arith.fptosi", "arith.fptoui"):
        text = conversion(op)(e[0])
        k.forms[v] = Index(k.named(f"static_cast<{C[v.elem]}>({text})", v.name or "n", v.elem), v.elem)
        return True
    elif name[6:9] in PICK and name.startswith("arith."):
        # a NaN is greater than nothing: maximumf hands it on, maxnumf gives the other number
        nan = e[0] if name.endswith("imumf") else e[1]
        text = f"{e[0]} {PICK[name[6:9]]} {e[1]} || {nan} != {nan} ? {e[0]} : {e[1]}"
    elif name == "arith.negf":
        text = f"-{e[0]}"
    elif name == "math.absf":
        text = f"{e[0]} > 0.0f ? {e[0]} : 0.0f - ({e[0]})"  # -0.0 too becomes 0.0
    elif name == "math.fma":
        text = f"{e[0]} * {e[1]} + {e[2]}"
    elif name == "arith.cmpf":
        k.forms[v] = Mask((Text(f"{e[0]} {float_sign(k, op)} {e[1]}"),))
        return True
    else:
        return False
    var = k.fresh(v.name or "s")
    k.emit(f"const float {var} = {rounded(text, v.elem)};")
    k.forms[v] = Scalar(var, v.elem)
    return True


def float_sign(k: Kernel, op: Op) -> str:
    signs = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 6: "!=", 8: "==", 9: ">", 10: ">=", 11: "<", 12: "<=", 13: "!="}
    if (sign := signs.get(op.int("predicate"))) is None:
        raise k.refuse("a comparison for NaN alone", "compare the number with itself by !=")
    return sign
