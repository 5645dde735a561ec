"""How a load or a store reaches GM, decided by its address: this is what a kernel's speed hangs on.

contiguous: neighbouring lanes are neighbours in GM, whole rows go by one DataCopyPad. strided: they lie a fixed step
apart. gather: anything else (a remainder, a loaded index, a mask that is no rectangle). Strided and gathered elements
go one by one through the scalar unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy

from labkit.triton import layout
from labkit.triton.forms import BlockPointer, Mask, Pointer
from labkit.triton.index import Div, Rem, Where, affine, cpp
from labkit.triton.split import carried
from labkit.triton.ttir import Op, Value


@dataclass(frozen=True)
class Access:
    """kind: as above; why: for the reader. base: of the first element; step: of each dimension. limits, lows: lanes
    that count, by dimension; same: conditions of the whole tile; mask: all of it."""

    kind: str
    why: str
    pointer: Pointer
    stored: tuple[int, ...]
    base: sympy.Expr
    steps: tuple
    limits: dict
    same: tuple
    mask: Mask
    lows: dict

    @property
    def partial(self) -> bool:
        return bool(self.mask.terms)


def decide(p: Pointer, mask: Mask, stored: tuple[int, ...]) -> Access:
    """stored: the lanes that are moved."""
    limits, lows, same, rest = mask.split(stored)
    found = affine(p.expr, len(stored))
    base, steps = found or (p.expr, ())
    dims = layout.wide_dims(stored)

    def of(kind: str, why: str) -> Access:
        return Access(kind, why, p, stored, base, steps, limits, tuple(same), mask, lows)

    if found is None:
        loaded = "a quotient or a remainder" if p.expr.has(Div, Rem) else "a loaded index"
        loaded = "a choice" if p.expr.has(Where) else loaded
        return of("gather", f"{loaded} in the address {cpp(p.expr)}")
    if rest:
        return of("gather", f"the mask is no rectangle: {rest[0]}")
    if not dims or steps[dims[-1]] == 1:
        if len(dims) > 1 and steps[dims[-2]].is_Integer and steps[dims[-2]] < longest(stored, limits, dims[-1]):
            return of("strided", f"rows lie {cpp(steps[dims[-2]])} elements apart and are longer")
        return of("contiguous", "")
    return of("strided", f"neighbouring lanes lie {cpp(steps[dims[-1]])} elements apart")


def longest(stored: tuple[int, ...], limits: dict, d: int) -> int:
    """Lanes of a row, at most: a limit such as 700 - offset is 700 at most, as offsets begin at 0."""
    most = [int(n.as_coeff_Add()[0]) for n in limits.get(d, ()) if n.as_coeff_Add()[0].is_Integer]
    return min([stored[d], *(n for n in most if n > 0)])


def addressed(forms: dict, op: Op, mask_at: int) -> tuple[object, Mask] | None:
    """(pointer, mask) of a tt.load or tt.store; None for a pointer that is no sum of steps."""
    p = forms[op.operands[0]]
    if isinstance(p, BlockPointer):
        return p.plain(op.checked)
    mask = forms.get(op.operands[mask_at]) if len(op.operands) > mask_at else Mask()
    return (p, mask) if isinstance(p, Pointer) and isinstance(mask, Mask) else None


# Of these an address is made; no lane of them lies in UB before it is asked for.
_OF_ADDRESSES = {
    "tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.make_range", "arith.constant", "arith.addi",
    "arith.muli", "arith.cmpi", "arith.andi", "arith.extsi",
}  # fmt: skip


def early_addresses(func: Op) -> Op:
    """Addresses and masks of stores come as early as what they are made of: what is stored can then be computed where
    it leaves from."""
    for store in [op for op in func.walk() if op.name == "tt.store"]:
        block = store.block
        for v in [x for i, x in enumerate(store.operands) if i != 1]:
            _earlier(block, v.op)
    return func


def _earlier(block, op: Op | None) -> bool:
    """Moves an operation and what it is made of to the front; False for one that stays."""
    if op is None or op.block is not block:
        return True
    if op.name not in _OF_ADDRESSES:
        return op.name in ("tt.get_program_id", "tt.get_num_programs")
    if not all(_earlier(block, v.op) for v in op.operands):
        return False
    ops, now = block.ops, block.ops.index(op)
    first = max((ops.index(v.op) + 1 for v in op.operands if v.op is not None and v.op.block is block), default=0)
    if first < now:
        ops.insert(first, ops.pop(now))
        op.early = True
    return True


def straight(forms: dict, store: Op) -> bool:
    """Whether a store's rows go to GM in one piece, so that its value may be computed where they leave from."""
    if store.operands[0] not in forms or (len(store.operands) > 2 and store.operands[2] not in forms):
        return False
    found = addressed(forms, store, 2)
    shape = store.operands[1].shape
    return found is not None and bool(shape) and decide(*found, shape).kind == "contiguous"


def feeds_address(op: Op, depth: int = 0) -> bool:
    """Whether an integer ends in an address: then it is kept as an index."""
    passing = ("addi", "subi", "muli", "divsi", "remsi", "extsi", "trunci", "select", "minsi", "maxsi")
    for user in op.result.users:
        if user.name == "tt.addptr":
            return True
        if (
            depth < 12
            and user.results
            and user.name.split(".")[1] in (*passing, "splat", "broadcast", "expand_dims", "reshape")
        ):
            if feeds_address(user, depth + 1):
                return True
    return False


def tensor_of(v: Value, seen: tuple[Value, ...] = ()) -> Value | None:
    """The argument that a pointer points into; None where that is not known."""
    if v in seen:
        return None
    if found := carried(v):
        return tensor_of(found[0].operands[3 + found[1]], (*seen, v))
    if v.op is None:
        return v
    return tensor_of(v.op.operands[0], (*seen, v)) if v.op.operands and "scf" not in v.op.name else None


def enclosing(op: Op) -> list[Op]:
    """The loops around an operation, the innermost first."""
    found = []
    while op.block is not None and op.block.parent is not None:
        op = op.block.parent
        found += [op] if op.name in ("scf.for", "scf.while") else []
    return found


def behind_stores(func: Op) -> set[Op]:
    """Loads of what the same program may have stored before: in an earlier line, or in an earlier turn of a loop."""
    order = [op for op in func.walk() if op.name in ("tt.store", "tt.load", "tt.atomic_rmw")]
    place = {op: n for n, op in enumerate(order)}
    stores: dict[Value | None, list[Op]] = {}
    for op in order:
        if op.name != "tt.load":
            stores.setdefault(tensor_of(op.operands[0]), []).append(op)

    return {
        op for op in order if op.name == "tt.load"
        for s in stores.get(tensor_of(op.operands[0]), ())
        if place[s] < place[op] or set(enclosing(s)) & set(enclosing(op))
    }  # fmt: skip


def changes_in(v: Value, loop: Op) -> bool:
    """Whether a value may be another one in each turn of a loop around it."""
    if any(v in block.args for block in loop.blocks):
        return True
    if v.op is None or loop not in enclosing(v.op):
        return False
    return v.op.name not in _OF_ADDRESSES or any(changes_in(x, loop) for x in v.op.operands)


def indices(forms: dict, op: Op) -> set:
    """The numbers of the loops around an operation."""
    loops = [loop.blocks[0].args[0] for loop in enclosing(op) if loop.name == "scf.for"]
    return {forms[v].expr for v in loops if v in forms}


def nearest(apart: sympy.Expr, ended: set) -> sympy.Expr:
    """The least that two addresses may be apart, whatever the numbers of loops that have ended were."""
    steps = [apart.coeff(n) for n in ended & apart.free_symbols]
    apart = sympy.expand(apart - sum(c * n for c, n in zip(steps, ended & apart.free_symbols)))
    if not steps or not all(n.is_Integer for n in (*steps, apart)):
        return apart if not steps else sympy.nan
    step = sympy.igcd(0, *steps)
    return min(apart % step, -apart % step)


def extent(access: Access) -> int | None:
    """Elements from the first to the last one that an access touches; None where names of the author's decide."""
    sides = [(n - 1) * access.steps[d] for d, n in enumerate(access.stored) if n > 1] if access.steps else [sympy.oo]
    return int(sum(map(abs, sides))) + 1 if all(n.is_Integer for n in sides) else None


def stores_again(forms: dict, op: Op, access: Access, before: list[tuple[Access, set]]) -> bool:
    """Whether a store is known to write bytes that an earlier one of the same program wrote: one of `before`, each with
    its indices(), or itself in an earlier turn of a loop. Copies to GM begin in order but may overlap, so it has to
    wait. Where names of the author's decide (a row's length), nothing is known, and none waits."""
    long = extent(access)

    def near(apart, earlier: int = 0) -> bool:
        """earlier: elements from the first to the last one of a store that begins `apart` elements before."""
        if apart == 0 or not apart.is_Integer:
            return apart == 0
        return bool(abs(apart) < (long or 0) or 0 < apart < earlier)

    for loop in enclosing(op):
        index = forms.get(loop.blocks[0].args[0]) if loop.name == "scf.for" else None
        times = sympy.expand(access.base).coeff(index.expr) if index is not None else 0
        if near(times * forms[loop.operands[2]].expr) if times != 0 else not changes_in(op.operands[0], loop):
            return True
    now = indices(forms, op)
    return any(
        a.pointer.arg == access.pointer.arg
        and near(nearest(sympy.expand(access.base - a.base), then - now), extent(a) or 0)
        for a, then in before
    )
