"""Loads, stores and atomics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from labkit.triton import lanes, layout
from labkit.triton.access import Access, addressed, decide, feeds_address, indices, stores_again
from labkit.triton.forms import FLOATS, INTEGERS, BlockPointer, C, Index, Mask, Pointer, Relation, Scalar, Tile
from labkit.triton.index import LANES, cpp, is_scalar, symbol
from labkit.triton.kernel import Kernel, lowers
from labkit.triton.tiles import duplicate, each_lane, move, number, stored_of, tile, zero
from labkit.triton.ttir import Op

PIDS = {"pid0", "pid1", "pid2"}


def lowest(k: Kernel, access: Access, d: int) -> str:
    """The first lane of a dimension that counts, as C++."""
    expr = "0"
    for low in access.lows.get(d, ()):
        k.helpers.add("Within")
        one = f"Within({cpp(low)}, {access.stored[d]})"
        expr = one if expr == "0" else f"({expr} > {one} ? {expr} : {one})"
    return expr if expr == "0" else k.count(expr)


def lanes_of(k: Kernel, access: Access, d: int) -> str:
    """How many lanes of a dimension count, from the lowest on, as C++."""
    expr = n = str(access.stored[d])
    for limit in access.limits.get(d, ()):
        if limit.is_Integer and expr.isdigit() and limit > 0:
            expr = n = str(min(int(limit), int(expr)))
            continue
        k.helpers.add("Within")
        expr = f"Within({cpp(limit)}, {expr})"
    low = lowest(k, access, d)
    expr = expr if low == "0" else f"{expr} - {low}"
    return expr if expr == n else k.count(expr)


def extent(k: Kernel, access: Access) -> tuple[str, str, list[str], dict[int, str]]:
    """(rows, columns, conditions for any of it, counts of the outer dimensions) as C++."""
    names = {d: lanes_of(k, access, d) for d in range(len(access.stored))}
    dims = layout.wide_dims(access.stored)
    outside = [names[d] for d in range(len(access.stored)) if d not in dims and not names[d].isdigit()]
    guard = [*map(str, access.same), *(f"{n} > 0" for n in outside)]
    rows = names[dims[-2]] if len(dims) > 1 else "1"
    return rows, names[dims[-1]] if dims else "1", guard, {d: names[d] for d in dims[:-2]}


def rectangle(k: Kernel, mask: Mask, stored: tuple[int, ...]) -> tuple[str, str] | None:
    """(rows, columns) as C++ where a mask says no more than that a tile's first rows and columns count."""
    limits, lows, same, rest = mask.split(stored)
    dims = layout.wide_dims(stored)
    if lows or rest or not dims or len(dims) > 2 or any(d not in dims for d in limits):
        return None
    access = Access("", "", None, stored, 0, (), limits, tuple(same), mask, lows)
    rows, wide, guard, _ = extent(k, access)
    return kept(k, rows, wide, guard)


def _rows(k: Kernel, access: Access, line) -> None:
    """One instruction for the last two dimensions, a loop for each before them."""
    dims = layout.wide_dims(access.stored)
    rows, wide, guard, outer = extent(k, access)
    apart = cpp(access.steps[dims[-2]]) if len(dims) > 1 else wide
    conditions = [*guard, *(f"{n} > 0" for n in (rows, wide) if not n.isdigit())]

    def level(i: int, gm, row: str) -> None:
        if i < len(dims) - 2:
            d = dims[i]
            low = lowest(k, access, d)
            end = outer[d] if low == "0" else f"{low} + {outer[d]}"
            with k.inside(f"for (int32_t i{d} = {low}; i{d} < {end}; i{d}++)"):
                inner = layout.rows(tuple(access.stored[x] for x in dims[i + 1 :]))
                level(i + 1, gm + access.steps[d] * LANES[d], f"{row}i{d} * {inner} + ")
            return
        low = lowest(k, access, dims[-2]) if len(dims) > 1 else "0"
        if low != "0":
            gm, row = gm + access.steps[dims[-2]] * symbol(low), f"{row}{low} + "
        at = f"[({row[:-3]}) * {layout.pitch(access.stored)}]" if row else ""
        head = f"if ({' && '.join(conditions)}) " if conditions else ""
        k.emit(head + line(at, f"{access.pointer.arg}Gm[{cpp(gm)}]", rows, wide, apart))

    level(0, access.base, "")


@lowers("tt.load")
def load(k: Kernel, op: Op):
    v, shape = op.result, op.result.shape
    found = addressed(k.forms, op, 1)
    if found is None:
        return through_bits(k, op)
    p, mask = found
    other = k.forms[op.operands[2]] if len(op.operands) > 2 else None
    stored = stored_of(p, shape)
    if isinstance(other, Tile) or (isinstance(other, Index) and not is_scalar(other.expr)):
        return through_bits(k, op)
    one = not layout.wide_dims(stored)  # all lanes read one address
    if one and not any(mask.varies(d) for d in range(len(shape))):
        return single(k, op, p, mask, other)
    # a mask that varies where the address does not lets fewer lanes count: those are never stored, but have `other`
    narrow = Mask(tuple(t for t in mask.terms if all(stored[d] > 1 or not t.varies(d) for d in range(len(shape)))))
    if len(narrow.terms) < len(mask.terms):
        if one and other is None:
            return single(k, op, p, narrow, other)
        stored = shape if other is not None else stored
        mask = mask if other is not None else narrow
    access = decide(p, mask, stored)
    elem = "i8" if v.elem == "i1" else v.elem
    fill = number(other, elem) if other is not None else None
    fill = fill if fill is not None else zero(elem)
    if access.kind == "contiguous" and access.partial and layout.SIZE[elem] == 8 and fill != zero(elem):
        access = replace(access, kind="gather", why="64-bit numbers are padded with 0 alone")
    made = (
        contiguous_load(k, op, access, elem, fill)
        if access.kind == "contiguous"
        else lanes_load(k, op, access, elem, fill)
    )
    if v.elem == "i1":
        from labkit.triton.tiles import cast

        wide = k.buffer("f32", stored, "number")
        cast(k, wide, made)
        bits = k.buffer("i1", stored, v.name or "bits")
        k.emit(f"CompareScalar({bits.var}, {wide.var}, 0.0f, CMPMODE::NE, {layout.whole(stored)});")
        k.done(wide)
        made.place.held += 1
        k.forms[v], keep = made, bits
        k.drop(v)
        k.dropped.discard(v)
        made = keep
    k.keep(v, made)


@contextmanager
def element(k: Kernel, op: Op, p: Pointer) -> Iterator[str]:
    """One number of GM for the scalar unit. What was stored before comes through UB: the unit's cache may hold what was
    there earlier."""
    if not k.alone and op not in k.again:
        yield f"{p.arg}Gm.GetValue({cpp(p.expr)})"
        return
    k.helpers.add("Take")
    k.sync("MTE3_MTE2")
    c = "i8" if p.elem == "i1" else p.elem
    with k.scratch(c, (32 // layout.SIZE[c],), "one") as one:
        yield f"Take({p.arg}Gm[{cpp(p.expr)}], {one.var})"


def through_bits(k: Kernel, op: Op) -> None:
    """A load whose mask was computed, or with a tile as other."""
    v, p = op.result, k.forms[op.operands[0]]
    if isinstance(p, BlockPointer) or not isinstance(p, Pointer):
        raise k.refuse("a load through a pointer that was loaded", "pass tensors, not tables of addresses")
    mask = k.forms[op.operands[1]] if len(op.operands) > 1 else Mask()
    other = k.forms[op.operands[2]] if len(op.operands) > 2 else None
    lanes.say(k, op, "the mask was computed" if isinstance(mask, Tile) else "other is a tile")
    made = lanes.room(k, op, "i8" if v.elem == "i1" else v.elem, v.shape)
    k.sync("V_S")
    fill = lanes.written(lanes.element(other), made.elem) if other is not None else zero(made.elem)
    with element(k, op, p) as text:
        read = f"{lanes.element(mask)} ? {text} : {fill}"
        each_lane(k, v.shape, lambda at: k.emit(f"{made.var}.SetValue({at}, {read});"))
    k.sync("S_V")
    k.keep(v, made)


def contiguous_load(k: Kernel, op: Op, access: Access, elem: str, fill: str) -> Tile:
    v, stored = op.result, access.stored
    size = layout.size(stored, elem)
    place = k.queue("in", size, (v.name or "x") + "In") if not (elem in INTEGERS and feeds_address(op)) else None
    if place is None:
        made = k.buffer(elem, stored, v.name or "x")
        k.sync("V_MTE2")
    else:
        made = Tile(k.tensor(place, elem, v.name or "x"), elem, stored, place)
    if op in k.again:
        k.sync("MTE3_MTE2")
    rows, wide, guard, outer = extent(k, access)
    full = [*map(str, access.same), *(f"{n} == {w}" for n, w in zip((rows, wide), _last_two(stored)) if n != str(w))]
    full += [f"{n} == {stored[d]}" for d, n in outer.items() if n != str(stored[d])]
    full += [f"{g}" for g in guard if g not in full]
    padded = layout.width(stored) != layout.pitch(stored)
    behind = not access.lows and not outer and can_fill(elem)  # what is not copied is filled then, else before
    if (padded or full) and not behind:  # what is not copied has the value of `other`
        if full and not padded:
            with k.inside(f"if (!({' && '.join(full)}))"):
                duplicate(k, made, fill)
                k.sync("V_MTE2")
        else:
            duplicate(k, made, fill)
            k.sync("V_MTE2")
    k.helpers.add("Rows")
    pitch, c = layout.pitch(stored), C[elem]
    _rows(
        k, access,
        lambda at, gm, r, w, apart: f"DataCopyPad({made.var}{at}, {gm}, RowsIn<{c}>({r}, {w}, {apart}, {pitch}), "
                                    f"Behind<{c}>({w}, {fill}));",
    )  # fmt: skip
    if place is None:
        k.sync("MTE2_V")
    else:
        k.emit(f"{place.name}.EnQue({made.var});")
        k.emit(f"{made.var} = {place.name}.DeQue<{C[elem]}>();")
    if behind and (padded or full):
        fill_rest(k, made, fill, *kept(k, rows, wide, guard), 32 // layout.SIZE[elem])
    return made


def can_fill(elem: str) -> bool:
    return elem in ("f32", "f16", "bf16", "i32", "i16")  # the unit puts a number into lanes of these


def kept(k: Kernel, rows: str, wide: str, guard: list[str]) -> tuple[str, str]:
    """Rows and columns that count, none where a condition of the whole tile does not hold."""
    if not guard:
        return rows, wide
    name = k.count(f"{' && '.join(guard)} ? {rows if rows != '1' else wide} : 0")
    return (name, wide) if rows != "1" else (rows, name)


def fill_rest(k: Kernel, t: Tile, value: str, rows: str, wide: str, whole: int = 1) -> None:
    """`value` in all lanes but those of the first rows and columns. whole: columns of a block that holds numbers to
    its end."""
    tall, width, pitch = layout.rows(t.stored), layout.width(t.stored), layout.pitch(t.stored)
    if wide != str(width) or width != pitch:
        k.helpers.add("FillBehind")
        if wide.isdigit():
            end = str(-(-int(wide) // whole) * whole)
        else:
            end = f"CeilTo({wide}, {whole})" if whole > 1 else wide
        k.emit(f"FillBehind<{C[t.elem]}>({t.var}, {value}, {rows if tall > 1 else 1}, {end}, {pitch});")
    if tall > 1 and rows != str(tall):
        rest = f"static_cast<int32_t>(({tall} - {rows}) * {pitch})"
        k.emit(f"if ({rows} < {tall}) Duplicate({t.var}[{rows} * {pitch}], {value}, {rest});")


def _last_two(stored: tuple[int, ...]) -> tuple[int, int]:
    dims = layout.wide_dims(stored)
    return (stored[dims[-2]] if len(dims) > 1 else 1, stored[dims[-1]] if dims else 1)


def say(k: Kernel, op: Op, access: Access) -> None:
    k.access.append(f"{op.line}: {access.kind}: {access.why}")
    k.emit(f"// {access.kind}, element by element: {access.why}")


def lanes_load(k: Kernel, op: Op, access: Access, elem: str, fill: str) -> Tile:
    v, stored = op.result, access.stored
    made = k.buffer(elem, stored, v.name or "x")
    say(k, op, access)
    if layout.width(stored) != layout.pitch(stored):
        duplicate(k, made, fill)
    k.sync("V_S")
    with element(k, op, access.pointer) as read:
        if access.partial:
            read = f"{access.mask} ? {read} : {fill}"
        each_lane(k, stored, lambda at: k.emit(f"{made.var}.SetValue({at}, {read});"))
    k.sync("S_V")
    return made


def single(k: Kernel, op: Op, p, mask: Mask, other) -> None:
    """One element, for the scalar unit."""
    v, elem = op.result, op.result.elem
    with element(k, op, p) as read:
        pass
    if elem in FLOATS:
        read = {"f16": f"static_cast<float>({read})", "bf16": f"ToFloat({read})"}.get(elem, read)
        rest = other.text if isinstance(other, Scalar) else "0.0f"
    else:
        rest = cpp(other.expr) if isinstance(other, Index) and is_scalar(other.expr) else "0"
    name = k.fresh(v.name or "loaded")
    c = "float" if elem in FLOATS else "int32_t" if elem == "i1" else C[elem]
    if mask.terms:
        read = f"{mask} ? {read} : static_cast<{c}>({rest})"
    k.emit(f"const {c} {name} = {read};")
    from labkit.triton.forms import Text

    k.forms[v] = (
        Scalar(name, elem)
        if elem in FLOATS
        else Mask((Text(f"{name} != 0"),))
        if elem == "i1"
        else Index(symbol(name), elem)
    )


def known_at_once(k: Kernel, term: Relation) -> bool:
    """Whether a program's number and the kernel's arguments decide it."""
    symbols = {str(s) for s in (term.left - term.right).free_symbols}
    return not symbols.isdisjoint(PIDS) and symbols <= k.given | PIDS


@lowers("tt.store")
def store(k: Kernel, op: Op):
    found = addressed(k.forms, op, 2)
    if found is None:
        return store_through_bits(k, op)
    p, mask = found
    k.masks.append(mask.words())
    k.asked.append({str(t) for t in mask.terms if isinstance(t, Relation) and known_at_once(k, t)})
    form, shape, elem = k.forms[op.operands[1]], op.operands[1].shape or (1,), p.elem
    stored = stored_of(p, shape)
    if any(mask.varies(d) or form.varies(d) for d, n in enumerate(shape) if stored[d] == 1 and n > 1):
        return lanes_store(
            k, op, decide(p, mask, shape), form, elem
        )  # several lanes to one address: the last one stays
    access = decide(p, mask, stored)
    if elem == "i1":
        raise k.refuse("a store of conditions through a pointer to int1", "convert to int8 before")
    leaving = isinstance(form, Tile) and form.place.kind == "out"
    if access.kind != "contiguous":
        return lanes_store(k, op, access, form, elem)
    t = form if leaving else k.out(elem, stored, "result")
    if not leaving:
        value = number(form, elem)
        if value is not None:
            duplicate(k, t, value)
        else:
            source = tile(k, form, stored, elem)
            move(k, t, source)
            if source is not form:
                k.done(source)
    k.helpers.add("Rows")
    if t.place.kind == "buf":
        k.sync("V_MTE3")
    else:
        k.emit(f"{t.place.name}.EnQue({t.var});")
        k.emit(f"{t.var} = {t.place.name}.DeQue<{C[elem]}>();")
    pitch = layout.pitch(stored)
    in_order(k, op, access)
    _rows(
        k,
        access,
        lambda at, gm, r, w, apart: f"DataCopyPad({gm}, {t.var}{at}, RowsOut<{C[elem]}>({r}, {w}, {apart}, {pitch}));",
    )
    if t.place.kind == "buf":
        k.sync("MTE3_V")
        k.sync("MTE3_MTE2")
        k.done(t)
    else:
        k.emit(f"{t.place.name}.FreeTensor({t.var});")
        k.idle.append(t.place)


def in_order(k: Kernel, op: Op, access: Access) -> None:
    if op.name == "tt.store" and stores_again(k.forms, op, access, k.stores):
        k.emit("PipeBarrier<PIPE_MTE3>();")
    k.stores.append((access, indices(k.forms, op)))


def store_through_bits(k: Kernel, op: Op) -> None:
    """A store whose mask was computed."""
    p, value, mask = (k.forms[o] for o in op.operands)
    if not isinstance(p, Pointer):
        raise k.refuse("a store through a pointer that was loaded", "pass tensors, not tables of addresses")
    shape = op.operands[1].shape
    lanes.say(k, op, "the mask was computed")
    k.helpers.add("Put")
    with k.scratch(p.elem, (32 // layout.SIZE[p.elem],), "one") as one:
        k.sync("V_S")
        k.sync("V_MTE3")
        to, text = f"{p.arg}Gm[{cpp(p.expr)}]", lanes.written(lanes.element(value), p.elem)
        each_lane(k, shape, lambda _: k.emit(f"if ({lanes.element(mask)}) Put({to}, {one.var}, {text});"))
        k.sync("S_V")


def lanes_store(k: Kernel, op: Op, access: Access, form, elem: str) -> None:
    """To the byte: the scalar unit's cache writes lines of 64, which would take neighbours of other cores with them."""
    stored = access.stored
    t = tile(k, form, stored, elem)
    say(k, op, access)
    in_order(k, op, access)
    k.helpers.add("Put")
    with k.scratch(elem, (32 // layout.SIZE[elem],), "one") as one:
        k.sync("V_S")
        k.sync("V_MTE3")
        head = f"if ({access.mask}) " if access.partial else ""
        to = f"{access.pointer.arg}Gm[{cpp(access.pointer.expr)}]"
        each_lane(k, stored, lambda at: k.emit(f"{head}Put({to}, {one.var}, {t.var}.GetValue({at}));"))
        k.sync("S_V")
    if t is not form:
        k.done(t)


# ---- Atomics, in the two ways that this chip has.
#
# Adding, the larger and the smaller one, where the old value is not asked for: the store itself does it (SetAtomicAdd
# and its kin), on all cores; in which order cores add is undefined on a card, on the twin it is block after block.
#
# All others (the old value is used; and, or, xor, exchange, compare and exchange; 64 bits, no signs): the chip has no
# such instruction. Then all programs of the launch run on one core, one after the other, and a read, the arithmetic and
# a store are as good as one step. So a lock that a program takes and gives back works; one that waits for a later
# program would wait for ever, as it may on a GPU.

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
            k.emit(f"{lanes.c_type(elem)} {result} = 0;")
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
                k.emit(f"const {lanes.c_type(elem)} {old} = {raw};")
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
        k.forms[v] = lanes.known(result, elem)
    elif made is not None:
        k.keep(v, made)
