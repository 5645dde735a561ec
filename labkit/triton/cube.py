"""tl.dot on the cube core: its operands go from GM to L1, from there to L0A and L0B; the sum stays in L0C until it is
whole, and FIXPIPE stores it, or hands it to the vector cores through GM."""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy

from labkit import chips
from labkit.triton import control, scalars, split  # noqa: F401  (rules for numbers and loops)
from labkit.triton.access import addressed, decide
from labkit.triton.forms import SIZE, C, Index, Mask, Pointer, Relation, words
from labkit.triton.index import LANES, Rem, Where, affine, cpp, symbol
from labkit.triton.kernel import RULES, Kernel
from labkit.triton.memory import lanes_of, lowest
from labkit.triton.refused import too_large
from labkit.triton.split import Part, Space, accumulator
from labkit.triton.ttir import Op, Value

KINDS = ("f16", "bf16", "f32", "i8")
HINT, SMALLER = "the cube multiplies float16, bfloat16, float32 and int8", "use a smaller BLOCK"
SQUARE = {"f32": 16, "i8": 32}  # what the unit turns on the way to L0; of 16 bits each fractal


class Computed(Exception):
    """value: a load that the cube core has no copy for."""

    def __init__(self, value: Value):
        self.value = value


@dataclass(frozen=True)
class L1:
    """A matrix in L1. high, wide: as it lies there, of which rows x columns count, as C++; turned: it is meant as its
    transpose; turning: a copy of it in panels, where it is read both ways round."""

    var: str
    elem: str
    high: int
    wide: int
    rows: str
    columns: str
    turned: bool = False
    turning: str = ""

    def read(self, turns: bool) -> str:
        """turns: whether it is turned on its way to L0."""
        return self.turning if turns and self.turning else self.var


@dataclass(frozen=True)
class Sum:
    """A product in L0C. fresh: the condition under which it still holds nothing, as C++, a name where loops may run
    not once; at: its bytes; elem: what it becomes; unit: what it is there."""

    var: str
    high: int
    wide: int
    fresh: str
    elem: str = "f32"
    at: tuple[int, int] = (0, 0)
    unit: str = "f32"


class CubeKernel(Kernel):
    def __init__(self, func: Op, part: Part, spaces: list[tuple[Value, Space]] | None):
        """spaces: of what is handed over; None: products go to GM as they are."""
        super().__init__(func, part.ops, part.values)
        self.products = {v: s for v, s in spaces or () if s.from_cube}
        self.computed = {v: s for v, s in spaces or () if not s.from_cube}
        self.l1, self.sums = 0, []  # bytes of L1; (from, to) bytes of L0C that hold a product
        self.coming: list[list[Value]] = []  # of each block around: what the vector cores have on its way
        self.ends: dict[Value, set[str]] = {}  # loads with rows beyond a size, which L1 has as zeros: names of the size
        self.starts: dict[tuple[str, str], sympy.Symbol] = {}
        self.rules = {
            **RULES,
            "tt.load": load,
            "tt.dot": dot,
            "tt.store": store,
            "tt.trans": trans,
            "scf.for": loop,
            "arith.truncf": narrow,
            "tt.fp_to_fp": narrow,
        }

    def block(self, ops: list[Op]) -> None:
        """What a vector core made is fetched in the order in which it is made, as late as it may be."""
        mark = self.l1
        self.coming.append([v for v in (ops[0].block.args if ops else ()) if v in self.computed])
        for op in ops:
            if op in self.wanted:
                if op.blocks:
                    self.fetch()
                for v in op.operands:
                    if v in self.coming[-1]:
                        self.fetch(v)
                super().block([op])
            self.coming[-1] += [v for v in op.results if v in self.computed]
        self.fetch()
        self.coming.pop()
        self.l1 = mark if self.coming else self.l1

    def fetch(self, last: Value | None = None) -> None:
        """Of what is on its way all, or all up to the last."""
        coming = self.coming[-1]
        n = coming.index(last) + 1 if last is not None else len(coming)
        for v in coming[:n]:
            s = self.computed[v]
            if s.elem not in KINDS:
                raise self.refuse(f"tl.dot of {s.elem}", HINT)
            panels = panels_of(v, False)
            made = [self.room(s.elem, s.high, s.wide, v.name or "tile") for _ in panels]
            self.helpers.add("CopyToL1")
            self.emit(f"CrossCoreWaitFlag({s.whole});")
            for var, panel in zip(made, panels):
                behind = f", 0, {panel}" if panel else ""
                self.emit(f"CopyToL1({var}, {s.var}, {s.high}, {s.wide}, {s.wide}, {s.high}, {s.wide}{behind});")
            self.emit(f"CrossCoreSetFlag<0x2, PIPE_MTE2>({s.free});")
            self.forms[v] = L1(made[0], s.elem, s.high, s.wide, str(s.high), str(s.wide), turning="".join(made[1:]))
        del coming[:n]

    def room(self, elem: str, high: int, wide: int, hint: str) -> str:
        memory = chips.load(chips.chosen())["memory"]
        size = high * wide * SIZE[elem]
        if self.l1 + size > memory["l1"]:
            raise too_large(
                str(self.refuse(f"{self.l1 + size} bytes of L1 for tl.dot's operands", "use a smaller BLOCK"))
            )
        var = self.fresh(hint)
        self.emit(f"LocalTensor<{C[elem]}> {var}(TPosition::A1, {self.l1}, {high * wide});")
        self.l1 += size
        return var

    def sum(self, high: int, wide: int, fresh: str, hint: str, elem: str = "f32") -> Sum:
        most, size = chips.load(chips.chosen())["memory"]["l0c"], high * wide * 4
        at = next((a for a in sorted({0, *(end for _, end in self.sums)})
                   if all(a + size <= low or end <= a for low, end in self.sums)), 0)  # fmt: skip
        if at + size > most:
            whole = size + sum(end - low for low, end in self.sums)
            raise too_large(
                str(self.refuse(f"{whole} bytes of L0C (there are {most}) with the sum of {high} x {wide}", SMALLER))
            )
        var = self.fresh(hint)
        self.emit(f"LocalTensor<{C[elem]}> {var}(TPosition::CO1, {at}, {high * wide});")
        self.sums.append((at, at + size))
        return Sum(var, high, wide, fresh, elem, (at, at + size), elem)

    def whole(self, sum_: Sum) -> None:
        """Zeros where no loop added anything."""
        if sum_.fresh != "false":
            self.helpers.add("ClearSum")
            self.emit(f"if ({sum_.fresh}) ClearSum<{sum_.high}, {sum_.wide}>({sum_.var});")

    def complete(self, v: Value) -> None:
        """A product that nobody adds to: to the vector cores."""
        if v not in self.products:
            return
        sum_, s = self.forms[v], self.products[v]
        self.whole(sum_)
        self.sync("M_FIX")
        self.helpers.add("StoreSum")
        for line in split.before_writing(s):
            self.emit(line)
        self.emit(f"StoreSum<{C[s.elem]}, {sum_.high}>({s.var}, {sum_.var}, {sum_.high}, {sum_.wide}, {sum_.wide});")
        self.sync("FIX_M")
        self.emit(f"CrossCoreSetFlag<0x2, PIPE_FIX>({s.whole});")
        self.sums.remove(sum_.at)


def behind_the_end(k: CubeKernel, masks: list[set[str]]) -> list[Value]:
    """Loads whose rows beyond a size are zeros in L1 and are asked for: some store has no mask with that size."""
    return [v for v, sizes in k.ends.items() if not all(sizes <= mask for mask in masks)]


def _block(k: CubeKernel, op: Op, mask_at: int = 1) -> tuple[Pointer, Mask]:
    found = addressed(k.forms, op, mask_at)
    if found is None:
        raise Computed(op.result if op.results else op.operands[1])
    return found


def load(k: CubeKernel, op: Op) -> None:
    v, shape = op.result, op.result.shape
    if len(shape) != 2:
        if shape:
            raise k.refuse(f"a tile of {shape} among the operands of tl.dot", "add it to the product")
        return RULES["tt.load"](k, op)
    if v.elem not in KINDS:
        raise k.refuse(f"tl.dot of {v.elem}", HINT)
    if op in k.again:  # stored by the vector cores
        raise Computed(v)
    p, mask = _block(k, op)
    if len(op.operands) > 2:
        other = k.forms[op.operands[2]]
        zero = other.expr == 0 if isinstance(other, Index) else other.text.rstrip("f") in ("0.0", "-0.0")
        if not zero:
            raise Computed(v)
    expr, terms, ends = p.expr, list(mask.terms), set()
    for wrap in sorted(
        expr.atoms(Rem), key=str
    ):  # (first + lane) % size: zeros stand for the first ones, behind the end
        inner, size = wrap.args
        found = affine(inner, 2)
        moving = [d for d in (0, 1) if found and found[1][d] == 1]
        if len(moving) == 1 and all(found[1][d] == 0 for d in (0, 1) if d != moving[0]):
            key = (str(found[0]), str(size))
            if key not in k.starts:
                k.starts[key] = k.named(Rem(found[0], size), "start")
            start = k.starts[key]
            expr = expr.subs(wrap, start + LANES[moving[0]])
            ends |= words(size)
            terms.append(Relation(LANES[moving[0]], "<", size - start))
    for wrap in sorted(expr.atoms(Where), key=str):  # tl.where(row < size, row, 0): the same
        found = affine(wrap.args[0], 2)
        moving = [d for d in (0, 1) if found and found[1][d] != 0]
        if len(moving) == 1 and found[1][moving[0]] == 1:
            expr = expr.subs(wrap, wrap.args[1])
            terms.append(Relation(wrap.args[0], "<", sympy.Integer(0)))
            sizes = {str(f.expr) for f in map(k.forms.get, k.func.blocks[0].args) if isinstance(f, Index)}
            ends |= words(wrap.args[0]) & sizes or {str(-found[0].as_coeff_Add()[0])}
    access = decide(Pointer(p.arg, sympy.expand(expr), p.elem), Mask(tuple(terms)), shape)
    if access.kind == "gather":
        raise Computed(v)
    turned = access.kind == "strided"
    row, column = (1, 0) if turned else (0, 1)
    panels = panels_of(v, turned)
    if access.lows.get(column) or (any(panels) and access.lows.get(row)):
        raise Computed(v)
    if access.steps[column] != 1:
        raise Computed(v)
    names = [lanes_of(k, access, d) for d in (0, 1)]
    low = lowest(k, access, row)  # the rows before it are zeros
    for condition in access.same:
        names[row] = k.count(f"({condition}) ? {names[row]} : 0")
    high, wide = shape[row], shape[column]
    k.helpers.add("CopyToL1")
    base = access.base if low == "0" else access.base + symbol(low) * access.steps[row]
    made = [k.room(v.elem, high, wide, v.name or "matrix") for _ in panels]
    for var, panel in zip(made, panels):
        behind = f", {low}" if low != "0" else f", 0, {panel}" if panel else ""
        k.emit(
            f"CopyToL1({var}, {p.arg}Gm[{cpp(base)}], {names[row]}, {names[column]}, "
            f"{cpp(access.steps[row])}, {high}, {wide}{behind});"
        )
    rows = names[row] if low == "0" else str(high)
    if ends:
        k.ends[v] = ends
    k.forms[v] = L1(made[0], v.elem, high, wide, rows, names[column], turned, "".join(made[1:]))


def panels_of(v: Value, turned: bool) -> list[int]:
    """Of each copy in L1 the rows of a panel, where a matrix is turned on its way to L0 and has not 16 bits; else 0."""
    wanted, stack = set(), [(v, turned)]
    while stack:
        x, now = stack.pop()
        for u in x.users:
            if u.name == "tt.trans":
                stack.append((u.result, not now))
            elif u.name == "tt.dot":
                wanted |= {now if i == 0 else not now for i in (0, 1) if u.operands[i] is x}
    if v.elem not in SQUARE:
        return [0]
    return [SQUARE[v.elem] if turns else 0 for turns in sorted(wanted)] or [0]


def trans(k: CubeKernel, op: Op) -> None:
    form = k.forms[op.operands[0]]
    if isinstance(form, L1):
        k.forms[op.result] = replace(form, turned=not form.turned)
    else:
        RULES["tt.trans"](k, op)


def dot(k: CubeKernel, op: Op) -> None:
    a, b = (k.forms.get(x) for x in op.operands[:2])
    c = k.forms.get(op.operands[2])
    if not (isinstance(a, L1) and isinstance(b, L1)):
        raise k.refuse("tl.dot of what is no matrix here", "load it, or compute it from what was loaded")
    (m, n), depth = op.result.shape, op.operands[0].shape[1]
    least = (16, 32 if a.elem == "i8" else 16, 32 if a.elem == "i8" and not b.turned else 16)
    least = (32 if a.elem == "i8" and a.turned else least[0], *least[1:])
    if any(x % y for x, y in zip((m, depth, n), least)):
        raise k.refuse(
            f"tl.dot of [{m}, {depth}] and [{depth}, {n}] {a.elem}",
            f"sides are multiples of {', '.join(map(str, least))}",
        )
    if not isinstance(c, Sum):
        c = k.sum(m, n, "true", op.result.name or "product", "i32" if a.elem == "i8" else "f32")
    deep = [
        x
        for x in dict.fromkeys((a.rows if a.turned else a.columns, b.columns if b.turned else b.rows))
        if x != str(depth)
    ]
    counted = " ".join(deep)
    most = f"LeastOf({deep[0]}, {deep[1]})" if len(deep) == 2 else counted or str(depth)
    piece = depth
    while max(m, n) * piece * SIZE[a.elem] > chips.load(chips.chosen())["memory"]["l0a"] and piece > least[1]:
        piece //= 2
    k.helpers |= {"MultiplyTiles", "CopyToL1"}
    k.sync("MTE2_MTE1")
    flags = f"{str(a.turned).lower()}, {str(b.turned).lower()}"
    k.emit(
        f"MultiplyTiles<{C[a.elem]}, {C[c.unit]}, {m}, {depth}, {n}, {piece}, {flags}>"
        f"({c.var}, {a.read(a.turned)}, {b.read(not b.turned)}, {most}, {c.fresh});"
    )
    if c.fresh.isidentifier() and c.fresh not in ("true", "false"):
        k.emit(f"{c.fresh} = false;")
    else:
        c = replace(c, fresh="false")
    k.forms[op.result] = c
    k.complete(op.result)


def loop(k: CubeKernel, op: Op) -> None:
    body = op.blocks[0]
    sums = {i for i in range(len(op.results)) if accumulator(op, i)}
    before = k.l1
    low, high = (k.forms[x].expr for x in op.operands[:2])
    runs = (high - low).is_positive
    index = f"{body.args[0].name or 'i'}"
    n = k._taken.get(index, 0)
    if n:
        index = f"{index}_{n}"
    for i in sums:
        made, arg = k.forms.get(op.operands[3 + i]), body.args[1 + i]
        if not isinstance(made, Sum):
            elem = "i32" if op.results[i].elem == "i32" else "f32"
            made = k.sum(*op.results[i].shape, f"{index} == {cpp(low)}", arg.name or "sum", elem)
            if not runs or arg.users[0].block is not body or arg.users[0].name != "tt.dot":
                made = replace(made, fresh=k.fresh("fresh"))
                k.emit(f"bool {made.fresh} = true;")
        k.forms[arg] = made
    control.loop(k, op, skip=sums)
    for i in sums:
        made = k.forms[body.args[1 + i]]
        k.forms[op.results[i]] = made if made.fresh.isidentifier() else replace(made, fresh="false")
        k.complete(op.results[i])
    k.l1 = before


def narrow(k: CubeKernel, op: Op) -> None:
    form = k.forms[op.operands[0]]
    if isinstance(form, Sum):
        k.forms[op.result] = replace(form, elem=op.result.elem)
    else:
        RULES[op.name](k, op)


def store(k: CubeKernel, op: Op) -> None:
    s = k.forms[op.operands[1]]
    p, mask = _block(k, op, 2)
    k.masks.append(mask.words())
    access = decide(p, mask, op.operands[1].shape)
    if not isinstance(s, Sum) or access.kind != "contiguous" or access.lows:
        raise Computed(op.operands[1])  # FIXPIPE stores row by row: the vector cores store it
    names = [lanes_of(k, access, d) for d in (0, 1)]
    conditions = [*map(str, access.same), *(f"{n} > 0" for n in names if not n.isdigit())]
    k.helpers |= {"StoreSum"}
    k.whole(s)
    k.sync("M_FIX")
    head = f"if ({' && '.join(conditions)}) " if conditions else ""
    elem = s.elem if s.elem in C else "f32"
    k.emit(
        f"{head}StoreSum<{C[elem]}, {s.high}>({p.arg}Gm[{cpp(access.base)}], {s.var}, "
        f"{names[0]}, {names[1]}, {cpp(access.steps[0])});"
    )
    k.sync("FIX_M")
