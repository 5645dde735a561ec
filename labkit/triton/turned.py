"""A kernel of two dimensions with its tiles turned, columns first.

Lanes of the last dimension should be neighbours in GM. Inductor always reduces along the last one, so that the sum of a
matrix's columns reads lanes that lie a row apart. Nothing but shapes and axes names a dimension: swapped everywhere,
the kernel computes the same.
"""

from __future__ import annotations

import re

from labkit.triton.ttir import Op, Value

AXIS = ("tt.expand_dims", "tt.reduce")
ANY_ORDER = (
    "tt.addptr", "tt.broadcast", "tt.splat", "tt.load", "tt.store", "tt.make_range", "tt.get_program_id",
    "tt.get_num_programs", "tt.bitcast", "tt.clampf", "tt.precise_divf", "tt.precise_sqrt", "tt.fp_to_fp",
    "tt.int_to_ptr", "tt.ptr_to_int", "tt.extern_elementwise", "tt.mulhiui", "tt.return", "tt.reduce.return", "tt.func",
    "tt.atomic_rmw", "tt.atomic_cas", "tt.assert",
)  # fmt: skip


class _Axis:
    """An operation's handle, with the other axis."""

    def __init__(self, handle):
        self.handle = handle

    def get_int_attr(self, name: str):
        value = self.handle.get_int_attr(name)
        return 1 - value if name == "axis" and value is not None else value

    def __getattr__(self, name: str):
        return getattr(self.handle, name)


def values(func: Op) -> list[Value]:
    made = [v for b in func.blocks for v in b.args]
    for op in func.walk():
        made += [*op.results, *(v for b in op.blocks for v in b.args)]
    return made


def can_turn(func: Op) -> bool:
    """Whether every operation is one that no order of dimensions matters to."""
    ranks = {len(v.shape) for v in values(func)}
    return 2 in ranks and max(ranks) == 2 and all(
        op.name in (*AXIS, *ANY_ORDER) or op.name.startswith(("arith.", "math.", "scf.")) for op in func.walk()
    )  # fmt: skip


def turn(func: Op) -> Op:
    """Changes the kernel itself."""
    for op in func.walk():
        of = op.result if op.name == "tt.expand_dims" else op.operands[0] if op.name == "tt.reduce" else None
        if of is not None and len(of.shape) == 2:
            op.handle = _Axis(op.handle)
    for v in values(func):
        v.type = re.sub(r"^tensor<(\d+)x(\d+)x(?!\d+x)", r"tensor<\2x\1x", v.type)
    return func
