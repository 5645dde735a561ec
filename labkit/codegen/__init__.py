"""Tile programs, and the Ascend C that they become.

A front end describes what happens to a tile with a Builder (ir.py); places.py gives every value a place in UB and
chooses the tile, emit.py and emit_wide.py print the kernel, tiling.py cuts a launch's tensors, clock.py predicts its
time.

    plan = labkit.codegen.plan(program)
    text = labkit.codegen.source(plan)
"""

from labkit.codegen.emit_wide import source
from labkit.codegen.ir import COLUMN, DOWN, FULL, ONE, PIECES, ROW, ROWS, WIDE, Builder, Program, Refused, Tensor
from labkit.codegen.places import Plan, plan

__all__ = [
    "COLUMN", "DOWN", "FULL", "ONE", "PIECES", "ROW", "ROWS", "WIDE",
    "Builder", "Plan", "Program", "Refused", "Tensor", "plan", "source",
]  # fmt: skip
