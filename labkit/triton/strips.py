"""The rows of a product over two vector cores, and over as many passes as UB asks for.

Where every tile behind a product is worked on row by row, the vector part of a kernel is read again with fewer rows:
each value whose first dimension is the product's gets `tall` of them, beginning at row0.
"""

from __future__ import annotations

from dataclasses import replace

from labkit.triton.split import Part, handed
from labkit.triton.ttir import Op, Value, parse

SAME = ("arith.constant", "tt.splat", "tt.make_range")  # known for any number of rows
WHOLE = ("tt.trans", "tt.reshape", "tt.make_tensor_ptr", "tt.advance", "tt.scan", "tt.gather", "tt.cat", "tt.join")


def separate(func: Op) -> None:
    """Each reader its own tl.arange: Triton makes one of those that count alike, rows and columns are two here."""
    for op in list(func.walk()):
        if op.name == "tt.make_range":
            for user in op.result.users[1:]:
                twin = replace(op, results=[], operands=[])
                twin.results.append(Value(op.result.type, op.result.name, twin, [user]))
                user.operands[user.operands.index(op.result)] = twin.result
                op.block.ops.insert(op.block.ops.index(op) + 1, twin)
            del op.result.users[1:]


def _together(op: Op, v: Value) -> list[Value] | None:
    """The values that have as many rows as v in this operation; None where rows do not stay apart."""
    if op.name in WHOLE:
        return None
    if op.name == "scf.for":
        if v in op.results:
            i = op.results.index(v)
        elif v in op.operands[3:]:
            i = op.operands.index(v, 3) - 3
        else:
            i = op.blocks[0].args.index(v) - 1
        return [op.operands[3 + i], op.blocks[0].args[1 + i], op.blocks[0].ops[-1].operands[i], op.results[i]]
    if op.name == "scf.yield":
        loop, i = op.block.parent, op.operands.index(v)
        return [loop.results[i]] + ([loop.blocks[0].args[1 + i]] if loop.name == "scf.for" else [])
    if op.name == "scf.if":
        i = op.results.index(v)
        return [b.ops[-1].operands[i] for b in op.blocks]
    if op.name == "tt.expand_dims":
        if op.int("axis") == 1:
            return [*op.operands, *op.results]
        return None
    if op.name == "tt.reduce":
        return [*op.operands, *op.results] if op.int("axis") == 1 else None
    if op.name == "tt.dot":  # its other operands go to GM as they are cut
        return [op.operands[2], *op.results] if v is op.operands[2] or v in op.results else []
    return [*op.operands, *op.results]


def by_rows(func: Op, part: Part) -> tuple[set[Value], int] | None:
    """(the values that have a product's rows, how many); None where the rows cannot be parted."""
    products = [v for v in part.values if handed(v)]
    if len({v.shape[0] for v in products}) != 1:
        return None
    tall, found, stack = products[0].shape[0], set(), list(products)
    while stack:
        v = stack.pop()
        if v in found or (v.op is not None and v.op.name in SAME and v.op.name != "tt.make_range"):
            continue
        if v.op is not None and v.op.name == "window":
            if parse(v.type)[1][0] != tall:
                return None
            found.add(v)
            continue
        if v.type.startswith("!tt.ptr<tensor"):
            return None
        if not v.shape or v.shape[0] == 1:
            continue
        if v.shape[0] != tall:
            return None
        found.add(v)
        makers = [] if v.op is None or handed(v) else [v.op]
        for op in [*makers, *(u for u in v.users if u in part.ops or u.name == "scf.yield")]:
            if op.name == "tt.broadcast" and op.operands[0].shape[0] != op.result.shape[0]:
                continue
            together = _together(op, v)
            if together is None:
                return None
            stack += together
        if v.op is None:  # what a loop hands on
            loop = next(u.block.parent for u in v.users)
            while loop is not None and not (loop.name == "scf.for" and v in loop.blocks[0].args):
                loop = loop.block.parent
            together = _together(loop, v) if loop is not None else None
            if together is None:
                return None
            stack += together
    return found, tall


def cut(values: set[Value], tall: int) -> None:
    """From now on they have so many rows."""
    for v in values:
        first = v.type.index("tensor<") + len("tensor<")
        v.type = v.type[:first] + str(tall) + v.type[v.type.index("x", first) :]
        if v.op is not None and v.op.name in ("tt.make_range", "window"):
            v.op.const = "row0"
