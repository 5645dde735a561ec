"""Tensor descriptors and block pointers: each load and store through one looks through a window of its own.

So both are one thing from here on (a load or store by a block pointer), and a window can be cut to fewer rows without
touching another's. A window that may begin before its tensor is told apart from one that cannot, by where its numbers
come from: what lies before the beginning costs a comparison for each lane.
"""

from __future__ import annotations

import re
from dataclasses import replace

import sympy

from labkit.triton.forms import BlockPointer
from labkit.triton.index import symbol
from labkit.triton.kernel import Kernel, lowers
from labkit.triton.ttir import Op, Value, parse

PREFIX = ("!tt.ptr<tensor", "!tt.tensordesc<")
GROWS = ("arith.addi", "arith.muli", "arith.divsi", "arith.divui", "arith.remui", "arith.minsi", "arith.maxsi",
         "arith.extui", "arith.extsi", "arith.index_cast", "arith.remsi")  # fmt: skip
ABOVE = ("tt.get_program_id", "tt.get_num_programs", "tt.make_range")


def windows(func: Op) -> Op:
    for op in list(func.walk()):
        described = op.name in ("tt.descriptor_load", "tt.descriptor_store")
        if not described and not (op.name in ("tt.load", "tt.store") and op.operands[0].type.startswith(PREFIX)):
            continue
        through, rest, at = op.operands[0], op.operands[1:], []
        if described:
            split = 1 if op.name == "tt.descriptor_store" else 0
            rest, at = rest[:split], rest[split:]
            op.name = op.name.replace("descriptor_", "")
            op.checked = tuple(range(len(at)))
        made = Op("window", op.handle, [through, *at], [], [], op.block, op.file, op.line)
        made.results.append(Value(f"!tt.ptr<{parse(through.type)[0]}>", through.name, made, [op]))
        for v in made.operands:
            v.users[v.users.index(op)] = made
        op.operands = [made.result, *rest]
        op.block.ops.insert(op.block.ops.index(op), made)
    return func


def above(v: Value, believed: frozenset = frozenset()) -> bool:
    """Whether an integer is never negative, by where it comes from."""
    if v in believed:
        return True
    op = v.op
    if op is None:
        loop = _loop_of(v)
        if loop is None:
            return False
        i = loop.blocks[0].args.index(v) - 1
        if i < 0:
            return above(loop.operands[0], believed) and above(loop.operands[2], believed)
        end = loop.blocks[0].ops[-1].operands[i]
        return above(loop.operands[3 + i], believed) and above(end, believed | {v})
    if op.name == "arith.constant":
        return isinstance(op.const, int) and op.const >= 0
    if op.name in ABOVE:
        return True
    if op.name == "scf.for":
        return above(op.blocks[0].args[1 + op.results.index(v)], believed)
    if op.name == "arith.select":
        return all(above(x, believed) for x in op.operands[1:])
    return op.name in GROWS and all(above(x, believed) for x in op.operands)


def _loop_of(v: Value) -> Op | None:
    for user in v.users:
        op = user.block.parent
        while op is not None:
            if op.name == "scf.for" and v in op.blocks[0].args:
                return op
            op = op.block.parent if op.block else None
    return None


def begins_inside(v: Value, d: int, believed: frozenset = frozenset()) -> bool:
    """Whether a block pointer never begins before its tensor, in dimension d."""
    if v in believed:
        return True
    op = v.op
    if op is None:
        loop = _loop_of(v)
        if loop is None:
            return True  # a descriptor that was passed in: it begins where the tensor does
        i = loop.blocks[0].args.index(v) - 1
        end = loop.blocks[0].ops[-1].operands[i]
        return begins_inside(loop.operands[3 + i], d, believed) and begins_inside(end, d, believed | {v})
    if op.name == "tt.make_tensor_ptr":
        return above(op.operands[1 + 2 * ((len(op.operands) - 1) // 3) + d])
    if op.name == "tt.make_tensor_descriptor":
        return True
    if op.name == "tt.advance":
        return begins_inside(op.operands[0], d, believed) and above(op.operands[1 + d])
    if op.name == "scf.for":
        return begins_inside(op.blocks[0].args[1 + op.results.index(v)], d, believed)
    return False


@lowers("tt.make_tensor_descriptor")
def make_descriptor(k: Kernel, op: Op) -> None:
    base, shape = k.forms[op.operands[0]], parse(op.result.type)[1]
    n = len(shape)
    rest = [k.forms[x].expr for x in op.operands[1 : 1 + 2 * n]]
    if op.int("padding") not in (None, 1, 0):
        raise k.refuse("a tensor descriptor that pads with NaN", "use padding_option='zero'")
    zero = sympy.Integer(0)
    k.forms[op.result] = BlockPointer(
        base.arg, base.expr, tuple(rest[:n]), tuple(rest[n:]), (zero,) * n, base.elem, shape
    )


@lowers("window")
def window(k: Kernel, op: Op) -> None:
    form, shape = k.forms[op.operands[0]], parse(op.result.type)[1]
    moved = [k.forms[x].expr for x in op.operands[1:]] or [sympy.Integer(0)] * len(shape)
    inside = [begins_inside(op.operands[0], d) for d in range(len(shape))]
    inside = [known and (d + 1 >= len(op.operands) or above(op.operands[1 + d])) for d, known in enumerate(inside)]
    offsets = [o + m for o, m in zip(form.offsets, moved)]
    if op.const == "row0":
        offsets[0] += symbol("row0")
    k.forms[op.result] = replace(form, offsets=tuple(offsets), shape=shape, inside=tuple(inside))


@lowers("tt.make_tensor_ptr")
def make_block_pointer(k: Kernel, op: Op):
    shape = tuple(int(n) for n in re.match(r"!tt.ptr<tensor<((?:\d+x)+)", op.result.type)[1].split("x")[:-1])
    base, n = k.forms[op.operands[0]], len(shape)
    rest = [k.forms[x].expr for x in op.operands[1:]]
    k.forms[op.result] = BlockPointer(
        base.arg, base.expr, tuple(rest[:n]), tuple(rest[n : 2 * n]), tuple(rest[2 * n :]), base.elem, shape
    )


@lowers("tt.advance")
def advance(k: Kernel, op: Op):
    form = k.forms[op.operands[0]]
    offsets = tuple(o + k.forms[x].expr for o, x in zip(form.offsets, op.operands[1:]))
    k.forms[op.result] = replace(form, offsets=offsets)
