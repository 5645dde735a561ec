"""Loops and branches: what they hand on keeps its place from one pass to the next."""

from __future__ import annotations

from dataclasses import replace

import sympy

from labkit.triton.forms import BlockPointer, C, Index, Mask, Pointer, Scalar, Text, Tile
from labkit.triton.index import LANES, cpp, symbol
from labkit.triton.kernel import Kernel, lowers
from labkit.triton.refused import Refused
from labkit.triton.tiles import duplicate, move, number, tile
from labkit.triton.ttir import Op, Value


def split(expr: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """(what has no lanes, what has)."""
    terms = sympy.Add.make_args(sympy.expand(expr))
    lanes = sympy.Add(*(t for t in terms if t.free_symbols & set(LANES)))
    return sympy.Add(*(t for t in terms if not t.free_symbols & set(LANES))), lanes


class NeedsTile(Refused):
    """A value that begins as an index and becomes a tile: the kernel is lowered again, with a tile from the start."""

    def __init__(self, value: Value, why: Refused):
        super().__init__(str(why))
        self.value = value


class Slot:
    """A variable that a loop or a branch hands on: numbers of the scalar unit, or a place in UB."""

    def __init__(self, k: Kernel, v: Value, first, hint: str, of: Value | None = None):
        """first: what it is known as at the beginning. Declares it. of: whose value that is, where nobody reads it
        any more: then the slot is where it lies."""
        self.k, self.v, self.lanes = k, v, sympy.Integer(0)
        name = k.fresh(hint)
        if isinstance(first, BlockPointer):
            names = [k.fresh(f"{name}_{d}") for d in range(len(first.offsets))]
            self.form = replace(first, offsets=tuple(map(symbol, names)))
            self.declared = [("int64_t", n) for n in names]
        elif isinstance(first, (Index, Pointer)) and v not in k.as_tiles:
            self.lanes = split(first.expr)[1]
            self.form = replace(first, expr=symbol(name) + self.lanes)
            self.declared = [(C[first.elem] if isinstance(first, Index) else "int64_t", name)]
        elif not v.shape and isinstance(first, Scalar):
            self.form, self.declared = Scalar(name, first.elem), [("float", name)]
        elif not v.shape and isinstance(first, Mask):
            self.form, self.declared = Mask((Text(name),)), [("bool", name)]
        else:
            over = (
                of is not None and isinstance(first, Tile) and (first.elem, first.stored) == (v.elem, v.shape)
                and (first.place.kind, first.place.held) == ("buf", 1)
            )  # fmt: skip
            if over:
                k.dropped.add(of)
            self.form, self.declared = first if over else k.buffer(v.elem, v.shape, name), []
            self.form.place.held, self.form.place.kind = 1, "kept"

    def give_back(self) -> None:
        """Its place is a plain one again, of which the result is one value."""
        if not self.declared:
            self.form.place.held, self.form.place.kind = 0, "buf"

    def values(self, form) -> list[str]:
        """What its variables become, as C++."""
        if isinstance(self.form, Index) and not isinstance(form, Index):
            raise NeedsTile(self.v, self.k.refuse("an integer that a loop makes a tile of"))
        if isinstance(self.form, BlockPointer):
            return [cpp(o) for o in form.offsets]
        if isinstance(self.form, (Index, Pointer)):
            base, lanes = split(form.expr)
            if sympy.expand(lanes - self.lanes) != 0 or (isinstance(form, Pointer) and form.arg != self.form.arg):
                raise self.k.refuse(
                    "a pointer whose lanes change from pass to pass", "compute it from the loop's index"
                )
            return [cpp(base)]
        return [form.text if isinstance(form, Scalar) else str(form)]

    def declare(self, first) -> None:
        for (c, name), value in zip(self.declared, self.values(first) if self.declared else ()):
            self.k.emit(f"{c} {name} = {value};")
        if not self.declared:
            self.fill(first)

    def fill(self, form) -> None:
        """A tile into its place."""
        if (value := number(form, self.form.elem)) is not None and self.form.elem not in ("i1", "i8", "i64"):
            return duplicate(self.k, self.form, value)
        source = tile(self.k, form, self.form.stored, self.form.elem)
        if source.place is not self.form.place:
            move(self.k, self.form, source)
            if source is not form:
                self.k.done(source)


def assign(k: Kernel, slots: list[Slot], forms: list) -> None:
    """All at once: what one of them becomes may be what another one was."""
    pairs = [(n, v) for s, f in zip(slots, forms) for (_, n), v in zip(s.declared, s.values(f) if s.declared else ())]
    pairs = [(n, v) for n, v in pairs if n != v]
    names = {n for n, _ in pairs}
    late = len(pairs) > 1 and any(symbol_in(v, names - {n}) for n, v in pairs)
    if late:
        kept = [(n, k.fresh(f"next_{n}"), v) for n, v in pairs]
        for _, new, v in kept:
            k.emit(f"const auto {new} = {v};")
        pairs = [(n, new) for n, new, _ in kept]
    tiles = [(s, f) for s, f in zip(slots, forms) if not s.declared]
    crossed = [
        (s, f) for s, f in tiles
        if isinstance(f, Tile) and any(o is not s and o.form.place is f.place for o, _ in tiles)
    ]  # fmt: skip
    for s, f in crossed:  # two places that change roles
        copy = k.buffer(s.form.elem, s.form.stored, "crossed")
        move(k, copy, tile(k, f, s.form.stored, s.form.elem))
        tiles[tiles.index((s, f))] = (s, copy)
    for s, f in tiles:
        s.fill(f)
        if any(s is c for c, _ in crossed):
            k.done(f)
    for n, v in pairs:
        k.emit(f"{n} = {v};")


def symbol_in(text: str, names: set[str]) -> bool:
    return bool(set("".join(c if c.isalnum() or c == "_" else " " for c in text).split()) & names)


@lowers("scf.for")
def loop(k: Kernel, op: Op, skip: set[int] = frozenset()):
    """skip: what is handed on where no slot is needed."""
    low, high, step = (cpp(k.forms[x].expr) for x in op.operands[:3])
    body = op.blocks[0]
    index, carried = body.args[0], body.args[1:]
    wanted = [i for i, arg in enumerate(carried) if i not in skip and (k.needed is None or arg in k.needed)]
    slots = {}
    for i in wanted:
        begins = op.operands[3 + i]
        first = k.forms[begins]
        last = k.last.get(begins) is op and op.operands.count(begins) == 1 and not any(map(op.holds, begins.users))
        hint = carried[i].name or op.results[i].name or "carried"
        slots[i] = Slot(k, carried[i], first, hint, begins if last else None)
        slots[i].declare(first)
        k.forms[carried[i]] = slots[i].form
    yielded = body.ops[-1].operands
    name = k.fresh(index.name or "i")
    with k.inside(f"for (int32_t {name} = {low}; {name} < {high}; {name} += {step})"):
        k.forms[index] = Index(symbol(name), index.elem)
        in_place = {}
        for i, s in slots.items():
            if not s.declared and carried[i].users:  # its last reader may write the next one over it
                in_place[yielded[i]] = s.form
                k.hold_in_loop(carried[i], s.form)
        k.carried |= in_place
        k.block(body.ops[:-1])
        for v in in_place:
            k.carried.pop(v, None)
        k.op = op
        assign(k, list(slots.values()), [k.forms[yielded[i]] for i in slots])
        k.release(body.ops[-1])
    for i, s in slots.items():
        s.give_back()
        k.keep(op.results[i], s.form)


@lowers("scf.if")
def branch(k: Kernel, op: Op):
    condition = k.forms[op.operands[0]]
    if isinstance(condition, Tile):
        raise k.refuse("if on a tile", "use tl.where")
    wanted = [i for i, v in enumerate(op.results) if k.needed is None or v in k.needed]
    results = [op.results[i] for i in wanted]
    slots: list[Slot] = []
    mark = len(k.lines)
    outer = k.lines
    for n, block in enumerate(op.blocks):
        k.lines = []
        with k.inside(f"if ({condition})" if n == 0 else "else"):
            end = block.ops[-1]
            handed = [end.operands[i] for i in wanted]
            own = [(v, s) for v, s in zip(handed, slots) if not s.declared and v.op in block.ops]
            for v, s in own:  # worked out where it has to lie
                s.form.place.held = 0
                k.carried[v] = s.form
            k.block(block.ops[:-1])
            for v, s in own:
                s.form.place.held = 1
                k.carried.pop(v, None)
            k.op = op
            forms = [k.forms[v] for v in handed]
            if n == 0 and results:
                here, k.lines, depth, k.depth = k.lines, [], k.depth, k.depth - 1
                for v, form in zip(results, forms):
                    slots.append(Slot(k, v, form, v.name or "either"))
                    for c, name in slots[-1].declared:
                        k.emit(f"{c} {name};")
                outer[mark:mark] = k.lines
                k.lines, k.depth = here, depth
            if results:
                assign(k, slots, forms)
            k.release(end)
        outer += k.lines
    k.lines = outer
    for v, s in zip(results, slots):
        s.give_back()
        k.keep(v, s.form)


@lowers("scf.while")
def while_loop(k: Kernel, op: Op):
    before, after = op.blocks
    slots = []
    for arg, first in zip(before.args, op.operands):
        slots.append(Slot(k, arg, k.forms[first], arg.name or "carried"))
        slots[-1].declare(k.forms[first])
        k.forms[arg] = slots[-1].form
    outer, mark = k.lines, len(k.lines)
    k.lines = []
    with k.inside("while (true)"):
        k.block(before.ops[:-1])
        end = before.ops[-1]
        k.op = op
        handed = [k.forms[v] for v in end.operands[1:]]
        if isinstance(k.forms[end.operands[0]], Tile):
            raise k.refuse("while on a tile", "reduce it to one number")
        here, k.lines, depth, k.depth = k.lines, [], k.depth, k.depth - 1
        leaving = [Slot(k, v, form, v.name or "last") for v, form in zip(op.results, handed)]
        for s in leaving:
            for c, name in s.declared:
                k.emit(f"{c} {name};")
        outer[mark:mark] = k.lines
        k.lines, k.depth = here, depth
        assign(k, leaving, handed)
        k.emit(f"if (!({k.forms[end.operands[0]]})) break;")
        for arg, form in zip(after.args, handed):
            k.forms[arg] = form
            if isinstance(form, Tile):
                form.place.held += 1  # until the loop is over
        k.block(after.ops[:-1])
        k.op = op
        assign(k, slots, [k.forms[v] for v in after.ops[-1].operands])
    outer += k.lines
    k.lines = outer
    for s in slots:
        s.give_back()
    for v, s in zip(op.results, leaving):
        s.give_back()
        k.keep(v, s.form)


@lowers("cf.cond_br")
def early_return(k: Kernel, op: Op):
    """The rest of this program is left out."""
    condition = k.forms[op.operands[0]]
    if isinstance(condition, Tile):
        raise k.refuse("if on a tile", "use tl.where")
    with k.inside(f"if ({condition})" if op.const else f"if (!({condition}))"):
        k.block(op.blocks[0].ops[:-1])
        for form in {f.place.name: f for f in k.forms.values() if isinstance(f, Tile) and f.place.held}.values():
            if form.place.kind == "in":
                k.emit(f"{form.place.name}.FreeTensor({form.var});")
        k.emit("continue;")


@lowers("scf.yield")
def hand_on(k: Kernel, op: Op):
    return None
