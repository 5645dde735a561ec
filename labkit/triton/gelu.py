"""GELU and products with a sigmoid in fewer instructions than their parts.

GELU is y * 0.5 * (1 + tanh(c * z)) = y / (1 + exp(-2 c z)): a factor of two changes no bit; y * (1 / d) is y / d, which
rounds once. What has only such a use is worked out there: until then its form is that of its operand, and k.pending has
the factor that belongs to it.
"""

from __future__ import annotations

from labkit.triton import layout
from labkit.triton.forms import Tile
from labkit.triton.kernel import Kernel
from labkit.triton.tiles import duplicate, float_text
from labkit.triton.ttir import Op, Value


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


def is_reciprocal(op: Op | None) -> bool:
    return op is not None and op.name == "arith.divf" and constant(op.operands[0]) == 1.0


def put_off(k: Kernel, op: Op, form: Tile, operand: Value) -> Tile | None:
    """The operand's form, where the only user of this result works it out."""
    user, v = only_user(op.result), op.result
    if user is None:
        return None
    y, total = times_one_more(user) or (None, None)
    if op.name == "arith.mulf":
        factor = next((c for o in op.operands if o is not operand and (c := constant(o)) is not None), None)
        if factor is None or operand in k.pending:
            return None
        if is_tanh(user) and one_more(only_user(user.result)) is user.result:
            k.pending[v] = float(factor)
        elif factor == 0.5 and y is v:
            k.pending[v] = 0.5
        else:
            return None
    elif is_tanh(op) and one_more(user) is v:
        k.pending[v] = -2.0 * k.pending.pop(operand, 1.0)
    elif is_reciprocal(op) and user.name == "arith.mulf" and total is None and operand not in k.pending:
        k.pending[v] = 1.0
    elif one_more(op) is operand and operand in k.pending and total is v:
        k.pending[v] = k.pending.pop(operand)  # (1 + tanh(a)) * (1 + tanh(b)): the first is the y, and whole
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


def times_reciprocal(k: Kernel, op: Op, forms: list, stored: tuple[int, ...]) -> Tile | None:
    """y * (1 / d), both of them tiles of its shape."""
    if any(getattr(f, "stored", None) != stored for f in forms) or op.name != "arith.mulf":
        return None
    at = next((i for i, o in enumerate(op.operands) if o in k.pending and is_reciprocal(o.op)), None)
    if at is None or op.operands[0] is op.operands[1]:
        return None
    d, y, other = forms[at], forms[1 - at], op.operands[1 - at]
    k.pending.pop(op.operands[at])
    whole = now(k, other, y) if other in k.pending else y
    k.release(op, ("buf",))
    to = k.result(op.result, "f32", stored)
    k.emit(f"Div({to.var}, {whole.var}, {d.var}, {layout.count(stored)});")
    if whole is not y:
        k.done(whole)
    return to


def now(k: Kernel, v: Value, form: Tile) -> Tile:
    """What was put off, in a place of its own."""
    made, n, factor = k.buffer("f32", form.stored, v.name or "late"), layout.count(form.stored), k.pending.pop(v)
    if is_reciprocal(v.op):
        duplicate(k, made, "1.0f")
        k.emit(f"Div({made.var}, {made.var}, {form.var}, {n});")
    elif is_tanh(v.op) or one_more(v.op) is not None:
        one_and_tanh(k, made, form, factor, n)
        if is_tanh(v.op):
            k.emit(f"Adds({made.var}, {made.var}, -1.0f, {n});")
    else:
        k.emit(f"Muls({made.var}, {form.var}, {float_text(factor)}, {n});")
    return made
