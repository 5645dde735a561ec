"""What a value is known as while a kernel is lowered: an index, a pointer, a condition, a number, a tile in UB."""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy

from labkit.triton.index import LANES, affine, cpp, is_scalar, moved

C = {
    "f32": "float", "f16": "half", "bf16": "bfloat16_t", "i64": "int64_t", "i32": "int32_t", "i16": "int16_t",
    "i8": "int8_t", "i1": "uint8_t",
}  # fmt: skip
SIZE = {"f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "i1": 1}
FLOATS, INTEGERS = ("f32", "f16", "bf16"), ("i64", "i32", "i16", "i8")


@dataclass(frozen=True)
class Index:
    """An integer for each lane, worked out by the scalar unit where it is needed."""

    expr: sympy.Expr
    elem: str = "i32"

    def moved(self, change):
        return replace(self, expr=moved(self.expr, change))

    def varies(self, d: int) -> bool:
        return self.expr.has(LANES[d])


@dataclass(frozen=True)
class Pointer:
    """Elements of the argument `arg`."""

    arg: str
    expr: sympy.Expr
    elem: str

    def moved(self, change):
        return replace(self, expr=moved(self.expr, change))

    def varies(self, d: int) -> bool:
        return self.expr.has(LANES[d])


@dataclass(frozen=True)
class BlockPointer:
    """tl.make_block_ptr: a window into a tensor of `sizes`. inside: dimensions in which it cannot begin before it."""

    arg: str
    base: sympy.Expr
    sizes: tuple
    strides: tuple
    offsets: tuple
    elem: str
    shape: tuple[int, ...]
    inside: tuple[bool, ...] = ()

    def plain(self, checked: tuple[int, ...]) -> tuple[Pointer, Mask]:
        """As a pointer with a mask: what lies inside the tensor along the dimensions that are checked."""
        lanes = [LANES[d] if n > 1 else sympy.Integer(0) for d, n in enumerate(self.shape)]
        inside = [o + i for o, i in zip(self.offsets, lanes)]
        at = self.base + sum(s * i for s, i in zip(self.strides, inside))
        terms = [Relation(inside[d], "<", self.sizes[d]) for d in checked]
        terms += [
            Relation(inside[d], ">=", sympy.Integer(0))
            for d in checked
            if self.offsets[d] != 0 and not (self.inside and self.inside[d])
        ]
        return Pointer(self.arg, sympy.expand(at), self.elem), Mask(tuple(terms))


@dataclass(frozen=True)
class Relation:
    left: sympy.Expr
    sign: str
    right: sympy.Expr

    def moved(self, change):
        return Relation(moved(self.left, change), self.sign, moved(self.right, change))

    def varies(self, d: int) -> bool:
        return self.left.has(LANES[d]) or self.right.has(LANES[d])

    def limit(self, rank: int) -> tuple[int, sympy.Expr] | None:
        """(d, n) where it says no more than: lane d lies below n."""
        if self.sign not in ("<", "<=", ">", ">="):
            return None
        difference = self.left - self.right if self.sign[0] == "<" else self.right - self.left
        found = affine(difference, rank)
        moving = [d for d, c in enumerate(found[1]) if c != 0] if found else []
        if len(moving) != 1 or found[1][moving[0]] != 1:
            return None
        return moving[0], sympy.expand(-found[0] + (1 if "=" in self.sign else 0))

    def low(self, rank: int) -> tuple[int, sympy.Expr] | None:
        """(d, n) where it says no more than: lane d is n or more."""
        other = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}.get(self.sign)
        return Relation(self.left, other, self.right).limit(rank) if other else None

    def __str__(self):
        return f"{cpp(self.left)} {self.sign} {cpp(self.right)}"


@dataclass(frozen=True)
class Text:
    """A condition that the scalar unit knows."""

    text: str

    def moved(self, change):
        return self

    def varies(self, d: int) -> bool:
        return False

    def __str__(self):
        return self.text


@dataclass(frozen=True)
class Not:
    mask: Mask

    def moved(self, change):
        return Not(self.mask.moved(change))

    def varies(self, d: int) -> bool:
        return self.mask.varies(d)

    def __str__(self):
        return f"!({self.mask})"


@dataclass(frozen=True)
class Or:
    masks: tuple[Mask, ...]

    def moved(self, change):
        return Or(tuple(m.moved(change) for m in self.masks))

    def varies(self, d: int) -> bool:
        return any(m.varies(d) for m in self.masks)

    def __str__(self):
        return "(" + " || ".join(f"({m})" if len(m.terms) > 1 else str(m) for m in self.masks) + ")"


def words(expr: sympy.Expr) -> set[str]:
    return {str(a) for a in expr.atoms(sympy.Symbol, sympy.Integer) if a not in LANES and a not in (0, 1, -1)}


@dataclass(frozen=True)
class Mask:
    """True where all of its terms are; without terms: everywhere."""

    terms: tuple = ()

    def moved(self, change):
        return Mask(tuple(t.moved(change) for t in self.terms))

    def varies(self, d: int) -> bool:
        return any(t.varies(d) for t in self.terms)

    def __and__(self, other: Mask) -> Mask:
        return Mask(tuple(dict.fromkeys(self.terms + other.terms)))

    def __str__(self):
        return " && ".join(map(str, self.terms)) or "true"

    def words(self) -> set[str]:
        """The names and numbers in its comparisons."""
        return set().union(*(words(side) for t in self.terms if isinstance(t, Relation) for side in (t.left, t.right)))

    def split(self, shape: tuple[int, ...]) -> tuple[dict[int, list], dict[int, list], list, list]:
        """(for each dimension the limits that its lane lies below, the lowest that it is, terms without lanes, the
        rest). The last dimension's lanes have no lowest: a row is copied from its beginning."""
        limits: dict[int, list] = {}
        lows: dict[int, list] = {}
        same, rest = [], []
        last = max((d for d, n in enumerate(shape) if n > 1), default=0)
        for term in self.terms:
            if not any(term.varies(d) for d in range(len(shape))):
                same.append(term)
            elif isinstance(term, Relation) and (found := term.limit(len(shape))):
                d, n = found
                if not (n.is_Integer and int(n) >= shape[d]):  # holds for every lane
                    limits.setdefault(d, []).append(n)
            elif isinstance(term, Relation) and (found := term.low(len(shape))) and found[0] < last:
                if not (found[1].is_Integer and int(found[1]) <= 0):
                    lows.setdefault(found[0], []).append(found[1])
            else:
                rest.append(term)
        return limits, lows, same, rest


NEVER = Mask((Text("false"),))


@dataclass(frozen=True)
class Scalar:
    """A float of the scalar unit, the same in every lane. text: always a float; elem: what it was rounded to."""

    text: str
    elem: str

    def moved(self, change):
        return self

    def varies(self, d: int) -> bool:
        return False


@dataclass
class Place:
    """Bytes in UB. kind: "buf", "in" (a queue from GM), "out" (a queue to GM), "kept" (a loop's own). held: how many
    values are there."""

    kind: str
    name: str
    bytes: int
    held: int = 0


@dataclass
class Tile:
    """Numbers in UB. stored: the shape, with a 1 where all lanes of a dimension are the same."""

    var: str
    elem: str
    stored: tuple[int, ...]
    place: Place

    def varies(self, d: int) -> bool:
        return self.stored[d] > 1


def scalar_index(form) -> bool:
    return isinstance(form, Index) and is_scalar(form.expr)
