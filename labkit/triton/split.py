"""Which operations the cube core works on and which the vector cores do: the same kernel, read twice.

The cube needs what its products are made of; the vector cores what is stored. Where a vector core needs a product, it
is handed over. Both run the loops and branches around what they need.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from labkit.triton.ttir import Op, Value

EFFECTS = ("tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.print", "tt.return", "scf.yield")
NARROWS = ("arith.truncf", "tt.fp_to_fp")


@dataclass
class Part:
    """What one kind of core needs: operations, and the values that loops hand on."""

    ops: set[Op] = field(default_factory=set)
    values: set[Value] = field(default_factory=set)


def zero(v: Value) -> bool:
    return v.op is not None and v.op.name == "arith.constant" and v.op.const == 0


def carried(v: Value) -> tuple[Op, int] | None:
    """(loop, number) of a value that a loop hands on, inside it or behind it."""
    for op in {u.block.parent for u in v.users if u.block.parent is not None} | ({v.op} if v.op else set()):
        while op is not None:
            if op.name == "scf.for":
                if v in op.results:
                    return op, op.results.index(v)
                if v in op.blocks[0].args[1:]:
                    return op, op.blocks[0].args.index(v) - 1
            op = op.block.parent if op.block else None
    return None


def accumulator(loop: Op, i: int) -> bool:
    """Whether what a loop hands on stays in L0C: it begins as 0 and products are added to it, nothing else."""
    arg, last = loop.blocks[0].args[1 + i], loop.blocks[0].ops[-1].operands[i]
    begins = loop.operands[3 + i]
    inner = carried(last) if last.op is not None and last.op.name == "scf.for" else None
    made = last.op is not None and (last.op.name == "tt.dot" or (inner is not None and accumulator(*inner)))
    return (
        (zero(begins) or product(begins))
        and made
        and len(arg.users) == 1
        and (
            (arg.users[0].name == "tt.dot" and arg.users[0].operands[2] is arg)
            or (arg.users[0].name == "scf.for" and accumulator(arg.users[0], arg.users[0].operands.index(arg) - 3))
        )
        and (len(last.users) == 1)
    )


def product(v: Value) -> bool:
    """Whether a value comes from the cube: of tl.dot, or of a loop that adds them up."""
    if v.op is not None and v.op.name == "tt.dot":
        return True
    found = carried(v)
    return found is not None and accumulator(*found)


def handed(v: Value) -> bool:
    """Whether a product is complete here: nobody adds to it."""
    adds = all(
        (u.name == "tt.dot" and u.operands[2] is v)
        or (u.name == "scf.for" and v in u.operands[3:] and accumulator(u, u.operands.index(v) - 3))
        or (
            u.name == "scf.yield"
            and u.block.parent.name == "scf.for"
            and accumulator(u.block.parent, u.operands.index(v))
        )
        for u in v.users
    )
    return v.op is not None and product(v) and not adds


def needs(start: list[Value], ops: list[Op], stop) -> Part:
    """All that leads to these values and operations. stop: values behind which another core's work begins."""
    part = Part()
    stack: list[Value] = list(start)

    def take(op: Op) -> None:
        if op in part.ops:
            return
        part.ops.add(op)
        if op.name == "scf.for":
            stack.extend(op.operands[:3])
        elif op.name == "scf.if":
            stack.append(op.operands[0])
        if op.block is not None and op.block.parent is not None and op.block.parent.name != "tt.func":
            take(op.block.parent)

    for op in ops:
        take(op)
        stack.extend(op.operands)
    while stack:
        v = stack.pop()
        if v in part.values:
            continue
        part.values.add(v)
        if stop(v):
            take(v.op)
            if v.op.name == "tt.dot" and not zero(v.op.operands[2]) and not product(v.op.operands[2]):
                stack.append(v.op.operands[2])
            continue
        if found := carried(v):
            loop, i = found
            take(loop)
            stack += [
                loop.operands[3 + i],
                loop.blocks[0].args[1 + i],
                loop.blocks[0].ops[-1].operands[i],
                loop.results[i],
            ]
        elif v.op is not None:
            take(v.op)
            if v.op.name == "scf.if":
                stack += [b.ops[-1].operands[v.op.results.index(v)] for b in v.op.blocks]
            elif v.op.name != "scf.for":
                stack.extend(v.op.operands)
    return part


def cube(func: Op) -> Part:
    dots = [op for op in func.walk() if op.name == "tt.dot"]
    start = [v for op in dots for v in op.operands[:2]]
    start += [op.operands[2] for op in dots if product(op.operands[2])]
    part = needs(start, [], lambda v: False)
    part.ops.update(dots)
    for op in dots:
        parent = op.block.parent
        while parent is not None and parent.name != "tt.func":
            part.ops.add(parent)
            more = needs(parent.operands[: 3 if parent.name == "scf.for" else 1], [], lambda v: False)
            part.ops |= more.ops
            part.values |= more.values
            parent = parent.block.parent
    return part


def vector(func: Op) -> Part:
    effects = [op for op in func.walk() if op.name in EFFECTS[:-2]]
    return needs([], effects, handed)


def stored_alone(func: Op) -> bool:
    """Whether all products go to GM as they are, or narrowed: then FIXPIPE stores them, and there is no other store."""
    stores = [op for op in func.walk() if op.name in EFFECTS[:-2]]

    def straight(v: Value) -> bool:
        if handed(v):
            return True
        return v.op is not None and v.op.name in NARROWS and len(v.users) == 1 and handed(v.op.operands[0])

    return all(op.name == "tt.store" and straight(op.operands[1]) for op in stores)
