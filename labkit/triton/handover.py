"""What the cores of a block hand to each other: each such tile has a space of its own in the block's GM workspace.

Two flags go with a space: the writer's, that the tile is whole, and the reader's, that it was read and the space is
free again. Each side waits and sets them in one order, so spaces may share a pair of flags (there are few): then the
one before must have been read, whichever it was.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from labkit.triton.forms import SIZE, C
from labkit.triton.ttir import Value

PRODUCTS, COMPUTED = ((0, 1), (2, 3), (4, 5), (6, 7)), ((8, 9), (10, 15))  # flags; 11 to 14 are SyncAll's


@dataclass(frozen=True)
class Space:
    """var: a GlobalTensor. at: bytes from the beginning of the block's workspace. whole, free: names of its flags."""

    var: str
    what: str
    elem: str
    high: int
    wide: int
    at: int
    whole: str
    free: str
    first: str
    flags: tuple[int, int]
    from_cube: bool

    @property
    def bytes(self) -> int:
        return self.high * self.wide * SIZE[self.elem]


def plan(products: Iterable[tuple[int, Value]], computed: Iterable[tuple[int, Value]]) -> list[tuple[int, Space]]:
    """A space for each value, with its number: a product may be handed over as it is, there and back."""
    spaces: list[tuple[int, Space]] = []
    at, taken = 0, {"space"}
    for from_cube, values, flags in ((True, list(products), PRODUCTS), (False, list(computed), COMPUTED)):
        for n, (number, v) in enumerate(values):
            name = base = f"{v.name or ('product' if from_cube else 'tile')}Space"
            again = 1
            while name in taken:
                again += 1
                name = f"{base}{again}"
            taken.add(name)
            pair = n % len(flags)
            end = "" if min(len(values), len(flags)) == 1 else str(pair)
            names = ("READY", "FREE", "unread") if from_cube else ("SENT", "TAKEN", "untaken")
            high, wide = v.shape
            space = Space(
                name, v.name or "a tile", v.elem, high, wide, at, *(f"{x}{end}" for x in names), flags[pair], from_cube
            )
            spaces.append((number, space))
            at += -(-space.bytes // 512) * 512
    return spaces


def size(spaces: list[Space]) -> int:
    return max((s.at + -(-s.bytes // 512) * 512 for s in spaces), default=0)


def names(spaces: list[Space]) -> list[str]:
    """What no other thing of the kernel may be called."""
    return [n for s in spaces for n in (s.var, s.whole, s.free, s.first)] + ["mine"]


def flags(spaces: list[Space]) -> list[str]:
    """Their numbers, as C++."""
    lines = []
    for from_cube, what in ((True, "a product is whole; the vector cores have read it"),
                            (False, "the vector cores' tile is whole; the cube core has read it")):  # fmt: skip
        pairs = {(s.whole, s.free, s.flags): None for s in spaces if s.from_cube == from_cube}
        lines += [
            f"constexpr uint16_t {whole} = {a}, {free} = {b};" + (f"  // {what}" if n == 0 else "")
            for n, (whole, free, (a, b)) in enumerate(pairs)
        ]
    return lines


def declared(spaces: list[Space]) -> list[str]:
    lines = []
    for s in spaces:
        way = "cube -> vector" if s.from_cube else "vector -> cube"
        lines.append(f"GlobalTensor<{C[s.elem]}> {s.var};  // {s.what} [{s.high}, {s.wide}], {way}")
    return lines


def places(spaces: list[Space], vectors: int) -> list[str]:
    """Where a block's spaces are. vectors: how many cores with numbers of their own share one; 1: GetBlockIdx's."""
    index = "GetBlockIdx()" if vectors == 1 else f"GetBlockIdx() / {vectors}"
    lines = [f"__gm__ uint8_t* mine = (__gm__ uint8_t*)workspace + static_cast<uint64_t>({index}) * {size(spaces)};"]
    return lines + [f"{s.var}.SetGlobalBuffer((__gm__ {C[s.elem]}*)(mine + {s.at}));" for s in spaces]


def begun(spaces: list[Space], from_cube: bool) -> list[str]:
    """The writer's: a flag was not waited for yet."""
    return [f"bool {first} = false;" for first in dict.fromkeys(s.first for s in _own(spaces, from_cube))]


def ended(spaces: list[Space], from_cube: bool) -> list[str]:
    """The writer waits for the last reader."""
    pairs = dict.fromkeys((s.first, s.free) for s in _own(spaces, from_cube))
    return [f"if ({first}) CrossCoreWaitFlag({free});" for first, free in pairs]


def before_writing(s: Space) -> list[str]:
    return [f"if ({s.first}) CrossCoreWaitFlag({s.free});", f"{s.first} = true;"]


def _own(spaces: list[Space], from_cube: bool) -> list[Space]:
    return [s for s in spaces if s.from_cube == from_cube]
