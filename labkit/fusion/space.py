"""From axes and strides to rows, columns and batches: how a launch sees its tensors.

Neighbouring axes that every tensor steps through alike become one. The last one is the columns (all reduced axes
together, where something is reduced), the one before it the rows, what is left are batches. A tensor that lies
otherwise is copied first, which the result says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from labkit.codegen import COLUMN, FULL, ONE, ROW
from labkit.fusion.graph import Traced, refuse


@dataclass(frozen=True)
class Operand:
    """A tensor as the kernel sees it. strides: outer, inner, row; copied: it must be laid out anew first, as a tensor
    over `axes`; kind as labkit.codegen has it."""

    name: str
    kind: str
    batched: bool
    strides: tuple[int, int, int]
    copied: bool = False
    axes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Space:
    rows: int
    width: int
    inner: int
    outer: int
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]

    @property
    def copied(self) -> list[str]:
        return [o.name for o in self.inputs if o.copied]


def strides_of(axes: list, shape: tuple, strides: tuple) -> dict[int, int]:
    return {a: s for a, n, s in zip(axes, shape, strides) if a is not None}


def dense(axes: list[int], sizes: dict[int, int]) -> dict[int, int]:
    """Strides of a contiguous tensor over those axes."""
    made, step = {}, 1
    for a in reversed(axes):
        made[a] = step
        step *= sizes[a]
    return made


def space(traced: Traced, tensors: list, down: bool = False) -> Space:
    """down: what is reduced are the rows, the columns of one axis stay; else it is the columns, laid out anew where
    that is not how the tensors lie. Raises Refused for results that are no rows."""
    sizes, reduced = traced.sizes, traced.reduced
    order = traced.order if down else [*(a for a in traced.order if a not in reduced), *reduced]
    used = [(n, p) for n, p in zip(traced.names, traced.placeholders) if p.users]
    of = dict(zip(traced.placeholders, tensors))
    inputs = {}
    for name, p in used:
        t = of[p]
        inputs[name] = strides_of(traced.axes[p], tuple(t.shape), tuple(t.stride()))
    copied: dict[str, tuple[int, ...]] = {}
    for name, own in inputs.items():
        if not _in_order(own, order, sizes):
            copied[name] = tuple(a for a in order if a in own)
            inputs[name] = dense(list(copied[name]), sizes)
    outputs = {}
    for i, node in enumerate(traced.outputs):
        axes = [a for a in traced.axes[node] if a is not None]
        outputs[output_name(traced, i)] = dense(axes, sizes)
        if [a for a in order if a in axes] != axes:
            raise refuse("reduced_axis", dims=", ".join(str(traced.order.index(a)) for a in reduced), name=node.name)
    if reduced:  # all of them together are the columns
        for name, own in inputs.items():
            there = [a for a in order if a in own and a in reduced]
            if there and (len(there) < len(reduced) or not _merge(own, there, sizes)):
                copied[name] = tuple(a for a in order if a in own or a in reduced)
                inputs[name] = dense(list(copied[name]), sizes)
    groups = _groups(order, sizes, reduced, [*inputs.values(), *outputs.values()])
    if len(groups) > 4:
        raise refuse("too_many_axes", count=len(groups))
    if down:  # rows are what is reduced; what lies between them and the columns are batches, whatever the strides
        i = next(i for i, g in enumerate(groups) if g[-1] in reduced)
        groups = [*groups[:i], *groups[i + 1 : -1], groups[i], groups[-1]]
    columns, rows, inner, outer = (*reversed(groups), (), (), (), ())[:4]

    def operand(name: str, own: dict[int, int]) -> Operand:
        has_rows = not rows or rows[-1] in own
        if not columns or columns[-1] in own:
            kind = FULL if has_rows else ROW
        else:
            kind = COLUMN if rows and rows[-1] in own else ONE
        if kind == COLUMN and own[rows[-1]] != 1:  # with batches between rows and columns: a column is one piece in GM
            copied[name] = tuple(a for g in (outer, inner, rows) for a in g if a in own)
            own = dense(list(copied[name]), sizes)
        step = [own.get(g[-1], 0) if g else 0 for g in (outer, inner, rows)]
        return Operand(name, kind, any(step[:2]), tuple(step), name in copied, copied.get(name, ()))

    count = {g: math.prod(sizes[a] for a in g) for g in (columns, rows, inner, outer)}
    made = Space(
        count[rows], count[columns], count[inner], count[outer],
        tuple(operand(n, own) for n, own in inputs.items()), tuple(operand(n, own) for n, own in outputs.items()),
    )  # fmt: skip
    for o, node in zip(made.outputs, traced.outputs):
        spans = [a for g in ((outer, inner) if down else (outer, inner, rows)) for a in g]
        own = outputs[o.name]
        rows_of = o.kind in (FULL, ROW if down else COLUMN)
        if any(a not in own for a in spans) or (not rows_of and (spans or o.kind == ROW)):
            raise refuse("narrow_output", name=o.name, shape=tuple(node.meta["val"].shape))
    return made


def output_name(traced: Traced, i: int) -> str:
    return "out" if len(traced.outputs) == 1 else f"out{i}"


def _in_order(own: dict[int, int], order: list[int], sizes: dict[int, int]) -> bool:
    """Whether the kernel can step through it: elements of a row side by side, falling strides, nothing overlapping."""
    axes = [a for a in order if a in own]
    if not axes:
        return True
    least = 1
    for a in reversed(axes):
        if own[a] < least:
            return False
        least = own[a] * sizes[a]
    return own[axes[-1]] == 1


def _merge(own: dict[int, int], axes: list[int], sizes: dict[int, int]) -> bool:
    """Whether these axes are one piece of it."""
    return all(own[a] == own[b] * sizes[b] for a, b in zip(axes, axes[1:]))


def _groups(order: list[int], sizes: dict, reduced: list[int], tensors: list[dict]) -> list[tuple[int, ...]]:
    """Runs of axes that all tensors step through alike, outer ones first."""
    groups: list[tuple[int, ...]] = []
    for a in reversed(order):
        if groups:
            first = groups[-1][0]
            together = (a in reduced) == (first in reduced) and all(
                (a in own) == (first in own) and (a not in own or own[a] == own[first] * sizes[first])
                for own in tensors
            )
            if a in reduced and first in reduced:
                together = True
            if together:
                groups[-1] = (a, *groups[-1])
                continue
        groups.append((a,))
    return list(reversed(groups))
