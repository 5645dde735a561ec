"""Parts of a core by themselves, through core_shim.cpp: which access touched which bytes, and what UB's banks cost."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labkit import paths
from labkit.build import compiler, headers, runtime

S, V, MTE2, MTE3 = 0, 1, 4, 5
READ, GLANCE, WRITE = 0, 1, 2
NONE, RAW, WAR, WAW = 0, 1, 2, 3


@pytest.fixture(scope="module")
def shim():
    lib = runtime.library()
    flags = ["-O1", "-std=c++17", *(f"-I{d}" for d in (*headers.include_dirs(), paths.twin_dir() / "src"))]
    made = ctypes.CDLL(
        str(
            compiler.build(
                [Path(__file__).parent / "core_shim.cpp"],
                flags=flags,
                name="core_shim",
                libs=[lib, f"-Wl,-rpath,{lib.parent}"],
            )
        )
    )
    made.bank_cost.restype = ctypes.c_double
    return made


def numbers(rows) -> ctypes.Array:
    flat = [n for row in rows for n in row]
    return (ctypes.c_uint32 * max(1, len(flat)))(*flat)


# ---- accesses

SIZE = 12
STEPS = st.tuples(
    st.sampled_from([READ, READ, GLANCE, WRITE, WRITE]),
    st.integers(0, SIZE - 1),
    st.integers(1, 5),
    st.sampled_from([V, MTE2, MTE3, S]),
    st.integers(0, 9),
    st.integers(0, 9),
)


class Bytes:
    """The same book-keeping, byte by byte: for each its last write, and since then the last read by V, by MTE3 and by
    others."""

    def __init__(self):
        self.write, self.reads = [None] * SIZE, [[None] * 3 for _ in range(SIZE)]

    def step(self, what, lo, hi, me, seen):
        def open_(a):
            return a is not None and a[0] != me[0] and seen[a[0]] < a[1]

        found = (NONE, 0)
        for b in range(lo, hi):
            if found[0] == NONE:
                unread = [r for r in self.reads[b] if open_(r)]
                if what == WRITE and unread:
                    found = (WAR, unread[-1][1])
                elif open_(self.write[b]):
                    found = (WAW if what == WRITE else RAW, self.write[b][1])
        for b in range(lo, hi):
            if what == WRITE:
                self.write[b], self.reads[b] = me, [None] * 3
            elif what == READ:
                self.reads[b][{V: 0, MTE3: 1}.get(me[0], 2)] = me
        return found


@settings(max_examples=400)
@given(st.lists(STEPS, min_size=1, max_size=14), st.sampled_from([0, 3, 99]))
@example([(WRITE, 0, 4, MTE2, 0, 0), (READ, 4, 4, V, 0, 0), (READ, 3, 1, V, 0, 0)], 0)  # beside it, and its last byte
@example(
    [(READ, 0, 4, V, 0, 0), (READ, 0, 4, MTE3, 0, 0), (WRITE, 2, 1, MTE2, 0, 0), (WRITE, 0, 2, MTE2, 3, 0)], 0
)  # two readers
@example(
    [(WRITE, 0, 2, V, 0, 0), (WRITE, 4, 2, V, 0, 0), (READ, 0, 6, MTE3, 2, 0), (WRITE, 2, 2, MTE2, 9, 0)], 99
)  # a hole between
def test_conflicts_are_those_of_each_byte(shim, drawn, others):
    model, rows, want = Bytes(), [], []
    for i, (what, lo, length, pipe, v, mte3) in enumerate(drawn, 1):
        hi, seen = min(SIZE, lo + length), {S: others, MTE2: others, V: v, MTE3: mte3}
        rows.append((what, lo, hi, pipe, i, v, mte3))
        want.append(model.step(what, lo, hi, (pipe, i), seen))
    out = (ctypes.c_uint32 * (2 * len(rows)))()
    shim.hazard_run(numbers(rows), len(rows), others, out)
    got = list(zip(out[::2], out[1::2]))
    assert got == want, f"(kind, number of the other) of each step {rows}"


@settings(max_examples=300)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12)), max_size=6),
    st.integers(0, 20),
    st.integers(1, 8),
    st.sampled_from([1, 4, 8]),
)
@example([(8, 8)], 0, 2, 8)  # block 0 alone is a hole
@example([(0, 8)], 0, 2, 8)  # the last one
@example([(0, 8), (16, 8)], 0, 3, 8)  # one between two
@example([(0, 7), (9, 7)], 0, 2, 8)  # none is whole
@example([(0, 24)], 0, 3, 8)
@example([(0, 24)], 0, 4, 8)
@example([(7, 1), (16, 1)], 0, 4, 8)
def test_the_first_piece_that_nobody_wrote(shim, written, lo, pieces, piece):
    hi = lo + pieces * piece + (pieces % 2 if piece > 1 else 0)  # now and then a part of a piece more
    filled = {b for at, n in written for b in range(at, at + n)}
    want = next((at for at in range(lo, hi - piece + 1, piece) if not filled & set(range(at, at + piece))), hi)
    first, any_ = ctypes.c_uint32(), ctypes.c_uint32()
    shim.hazard_holes(
        numbers([(at, at + n) for at, n in written]),
        len(written),
        lo,
        hi,
        piece,
        ctypes.byref(first),
        ctypes.byref(any_),
    )
    assert first.value == want, f"pieces of {piece} in {lo} to {hi}, written: {sorted(filled)}"
    assert bool(any_.value) == bool(filled & set(range(lo, hi)))


# ---- banks


def groups(block: int) -> int:
    return block % 16


def bank(block: int) -> tuple[int, int]:
    return block * 32 >> 16 & 3, block % 16


def by_block(dst, sources, repeats, conflict, conflict_write) -> float:
    """Mean cycles more a repeat: the busiest group's blocks beyond the first, or a read of a bank that the repeat
    before wrote to."""

    def touched(o, i):
        return [o[0] // 32 + i * o[2] + b * o[1] for b in range(8)]

    total, some = 0.0, min(repeats, 16)
    for i in range(some):
        read = {b for s in sources for b in touched(s, i)}
        wrote = set(touched(dst, i))
        busiest = max([1, *(sum(groups(b) == g for b in blocks) for blocks in (read, wrote) for g in range(16))])
        meets = i > 0 and {bank(b) for b in touched(dst, i - 1)} & {bank(b) for b in read}
        total += max((busiest - 1) * conflict, conflict_write if meets else 0)
    return total / some


PLACES = (
    st.integers(0, 80).map(lambda n: 32 * n)
    | st.integers(2040, 2056).map(lambda n: 32 * n)
    | st.integers(4090, 4100).map(lambda n: 32 * n)
)


@settings(max_examples=250)
@given(st.lists(st.tuples(PLACES, st.integers(0, 3), st.integers(0, 17)), min_size=2, max_size=3), st.integers(1, 20))
@example([(0, 0, 8), (65536, 1, 8)], 2)
@example([(65536 - 512, 2, 8), (65536 + 512, 1, 8)], 16)
@example([(3 * 65536 - 512, 2, 8), (2 * 65536, 1, 8)], 16)
def test_banks_with_strides(shim, operands, repeats):
    if all((blk, rep) == (1, 8) for _, blk, rep in operands):
        operands = [(operands[0][0], 2, 16), *operands[1:]]
    dst, *sources = operands
    got = shim.bank_cost(numbers(operands), len(sources), repeats, ctypes.c_double(1.0), ctypes.c_double(0.75))
    want = by_block(dst, sources, repeats, 1.0, 0.75)
    assert got == pytest.approx(want), (
        f"{got} cycles a repeat, not {want}: {repeats} repeats of (address, blocks apart, repeats apart) {operands}"
    )


@settings(max_examples=250)
@given(st.lists(PLACES, min_size=2, max_size=3), st.integers(1, 20))
@example([65536, 0], 4)
@example([65536, 32], 4)
@example([65536 - 1024, 65536 - 2048 + 32], 8)  # the middle of the one lies in the next bank
@example([0, 0, 256], 4)
@example([0, 0, 0], 4)
@example([0, 512, 0], 4)
def test_banks_side_by_side(shim, places, repeats):
    """Whole blocks one after the other: two sources meet unless they are eight groups apart (or the same), a read
    meets the write before it unless both begin in one group, or lie in other 64 KiB by the
    middle of the instruction."""
    dst, *sources = places
    group = [p // 32 % 16 for p in places]
    twice = len(sources) == 2 and sources[0] != sources[1] and (group[2] - group[1]) % 16 != 8
    middle = [(p + repeats * 128) // 65536 for p in places]
    meets = any(g != group[0] and m == middle[0] for g, m in zip(group[1:], middle[1:]))
    want = max(1.0 if twice else 0.0, 0.75 * (repeats - 1) / repeats if meets else 0.0)
    got = shim.bank_cost(
        numbers([(p, 1, 8) for p in places]), len(sources), repeats, ctypes.c_double(1.0), ctypes.c_double(0.75)
    )
    assert got == pytest.approx(want), f"{got} cycles a repeat, not {want}: {repeats} repeats at {places}"


def test_no_repeat_costs_nothing(shim):
    assert shim.bank_cost(numbers([(0, 1, 8), (32, 1, 8)]), 1, 0, ctypes.c_double(1.0), ctypes.c_double(0.75)) == 0
    assert np.isfinite(shim.bank_cost(numbers([(0, 1, 8)]), 0, 3, ctypes.c_double(1.0), ctypes.c_double(0.75)))
