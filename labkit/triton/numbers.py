"""Single floats, which the scalar unit works out; always in float, rounded to their own type."""

from __future__ import annotations

from labkit.triton.forms import C, Index, Mask, Scalar, Text
from labkit.triton.index import cpp
from labkit.triton.kernel import Kernel
from labkit.triton.ttir import Op

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
    elif name in ("arith.sitofp", "arith.uitofp", "arith.extf"):
        text = e[0]
    elif name in ("arith.truncf", "tt.fp_to_fp"):
        text = e[0]
    elif name in ("arith.fptosi", "arith.fptoui"):
        k.forms[v] = Index(k.named(f"static_cast<{C[v.elem]}>({e[0]})", v.name or "n", v.elem), v.elem)
        return True
    elif name[6:9] in PICK and name.startswith("arith."):
        text = f"{e[0]} {PICK[name[6:9]]} {e[1]} ? {e[0]} : {e[1]}"
    elif name == "arith.negf":
        text = f"-{e[0]}"
    elif name == "math.absf":
        text = f"{e[0]} < 0.0f ? -({e[0]}) : {e[0]}"
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
