"""Atomics, in the two ways that this chip has.

Adding, the larger and the smaller one, where the old value is not asked for: the store itself does it (SetAtomicAdd and
its kin), on all cores; in which order cores add is undefined on a card, on the twin it is block after block.

All others (the old value is used; and, or, xor, exchange, compare and exchange; 64 bits, no signs): the chip has no
such instruction. Then all programs of the launch run on one core, one after the other, and a read, the arithmetic and a
store are as good as one step. So a lock that a program takes and gives back works; one that waits for a later
program would wait for ever, as it may on a GPU.
"""

from __future__ import annotations

import re

from labkit.triton import lanes, layout
from labkit.triton.access import addressed, decide
from labkit.triton.forms import C, Mask
from labkit.triton.index import cpp
from labkit.triton.kernel import Kernel, lowers
from labkit.triton.memory import lanes_store, store
from labkit.triton.reduce import c_type, known
from labkit.triton.tiles import each_lane
from labkit.triton.ttir import Op

BY_STORE = {"fadd": "Add", "add": "Add", "max": "Max", "min": "Min"}
TYPES = ("f32", "f16", "bf16", "i32", "i16", "i8")
FORMULAS = {
    "fadd": "{old} + {v}", "add": "{u}({old}) + {u}({v})", "and": "{old} & {v}", "or": "{old} | {v}",
    "xor": "{old} ^ {v}", "max": "({old} > {v} ? {old} : {v})", "min": "({old} < {v} ? {old} : {v})",
    "umax": "({u}({old}) > {u}({v}) ? {old} : {v})", "umin": "({u}({old}) < {u}({v}) ? {old} : {v})", "exch": "{v}",
}  # fmt: skip


def kind(op: Op) -> str:
    return re.match(r"\s*(\w+),", op.text)[1]


def by_store(op: Op) -> bool:
    return op.name == "tt.atomic_rmw" and kind(op) in BY_STORE and op.operands[1].elem in TYPES and not op.result.users


def alone(func: Op) -> bool:
    """Whether the programs of a kernel have to run one after the other."""
    return any(op.name in ("tt.atomic_rmw", "tt.atomic_cas") and not by_store(op) for op in func.walk())


@lowers("tt.atomic_rmw")
def modify(k: Kernel, op: Op) -> None:
    if not by_store(op):
        return one_by_one(
            k, op, k.forms[op.operands[1]], k.forms.get(op.operands[2]) if len(op.operands) > 2 else Mask()
        )
    form, shape, elem = k.forms[op.operands[1]], op.operands[1].shape, op.operands[1].elem
    found = addressed(k.forms, op, 2)
    k.emit(f"SetAtomic{BY_STORE[kind(op)]}<{C[elem]}>();")
    if found and any(n > 1 and not found[0].varies(d) for d, n in enumerate(shape)):  # several lanes to one address
        lanes_store(k, op, decide(*found, shape), form, elem)
    else:
        store(k, op)
    k.emit("SetAtomicNone();")


@lowers("tt.atomic_cas")
def compare_and_exchange(k: Kernel, op: Op) -> None:
    one_by_one(k, op, k.forms[op.operands[2]], Mask(), k.forms[op.operands[1]])


def one_by_one(k: Kernel, op: Op, value, mask, expected=None) -> None:
    v, p = op.result, k.forms[op.operands[0]]
    elem, shape = v.elem, v.shape
    name = kind(op) if op.name == "tt.atomic_rmw" else "cas"
    if not hasattr(p, "arg"):
        raise k.refuse("an atomic through a pointer that was loaded", "pass tensors, not tables of addresses")
    lanes.say(k, op, f"atomic {name} has no instruction, so all programs run on one core")
    k.helpers |= {"Take", "Put"}
    with k.scratch(elem, (32 // layout.SIZE[elem],), "one") as one:
        made = None
        if not shape:
            result = k.fresh(v.name or "old")
            k.emit(f"{c_type(elem)} {result} = 0;")
        elif v.users:
            made = lanes.room(k, op, elem, shape)
        k.emit("PipeBarrier<PIPE_ALL>();")

        def step(at: str) -> None:
            condition = lanes.element(mask)
            gm = f"{p.arg}Gm[{cpp(p.expr)}]"

            def exchange() -> None:
                old = k.fresh("was")
                raw = f"Take({gm}, {one.var})"
                raw = {"f16": f"static_cast<float>({raw})", "bf16": f"ToFloat({raw})"}.get(elem, raw)
                k.emit(f"const {c_type(elem)} {old} = {raw};")
                new = lanes.element(value)
                if expected is None:
                    u = "uint64_t" if elem == "i64" else "uint32_t"
                    new = FORMULAS[name].format(old=old, v=new, u=u)
                else:
                    new = f"({old} == {lanes.element(expected)} ? {new} : {old})"
                k.emit(f"Put({gm}, {one.var}, {lanes.written(new, elem)});")
                if made is not None:
                    k.emit(f"{made.var}.SetValue({at}, {lanes.written(old, elem)});")
                elif not shape:
                    k.emit(f"{result} = {old};")

            if condition in ("(true)", "true"):
                exchange()
            else:
                with k.inside(f"if ({condition})"):
                    exchange()

        each_lane(k, shape or (1,), step)
        k.emit("PipeBarrier<PIPE_ALL>();")
    if not shape:
        k.forms[v] = known(result, elem)
    elif made is not None:
        k.keep(v, made)
