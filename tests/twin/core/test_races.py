"""Random programs of copies, vector instructions, flags and scalar accesses:
the twin finds a race exactly when one is there.

The judge is written from the definition: an access may rely on what happened before it - earlier on its pipe, or known
through a flag, a barrier or the scalar unit that issued it - and on nothing else. What follows a first race is not
compared: the twin keeps only the newest accesses, and which ones those are after a race is arbitrary.
"""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import KERNELS

import labkit

FILE = KERNELS / "program.asc"
BLOCKS, SLOTS = 8, 6
S, V, MTE2, MTE3 = range(4)
EVENTS = [(MTE2, V), (V, MTE2), (V, MTE3), (MTE3, V), (MTE3, MTE2), (MTE2, MTE3), (V, S), (MTE3, S)]
LOAD, VECTOR, STORE, AGAIN, SET, WAIT, BARRIER, SETVALUE, GETVALUE, EVERY_OTHER = range(10)
LINES = {
    kind: next(i for i, line in enumerate(FILE.read_text().splitlines(), 1) if line.endswith(f"// {word}"))
    for kind, word in (
        (LOAD, "load"),
        (VECTOR, "vector"),
        (STORE, "store"),
        (AGAIN, "again"),
        (EVERY_OTHER, "every other block"),
    )
}


def spans(kind: int, a: int, b: int, n: int):
    """(pipe, blocks read, blocks written, GM slots read, GM slots written)"""
    to, frm = set(range(a, a + n)), set(range(b, b + n))
    return {
        LOAD: (MTE2, set(), to, set(), set()),
        VECTOR: (V, frm, to, set(), set()),
        STORE: (MTE3, to, set(), set(), frm),
        AGAIN: (MTE2, set(), to, frm, set()),
        EVERY_OTHER: (MTE2, set(), set(range(a, a + 2 * n, 2)), set(), set()),
    }[kind]


def first_race(program):
    """(kind of the step, the codes that fit) of the first access that nothing orders, or None."""
    # known: bits of the accesses that a pipe may rely on; seen: (pipe, reads, writes, ...)
    known, flags, seen = ([0] * 4, {}, [])
    for kind, a, b, n in program:
        if kind == SET:
            p = EVENTS[a][0]
            known[p] |= known[S]
            flags[a, b] = known[p]
        elif kind == WAIT:
            known[EVENTS[a][1]] |= flags.pop((a, b))
        elif kind == BARRIER and a == 0:  # of one pipe (a > 0) it orders nothing that is not in order anyway
            known = [known[0] | known[1] | known[2] | known[3]] * 4
        elif kind == BARRIER:
            pass
        elif kind in (SETVALUE, GETVALUE):  # the compiler makes the scalar unit wait for the pipes that matter
            for i, (pipe, reads, writes, _, _) in enumerate(seen):
                if not known[S] >> i & 1 and a in (writes | reads if kind == SETVALUE else writes):
                    known[S] |= known[pipe]
        else:
            pipe, reads, writes, gm_reads, gm_writes = spans(kind, a, b, n)
            before, codes = known[pipe] | known[S], set()
            for i, (other, their_reads, their_writes, _, their_gm) in enumerate(seen):
                if other == pipe or before >> i & 1:
                    continue
                codes |= {
                    code
                    for code, hit in (
                        ("race-raw", reads & their_writes),
                        ("race-war", writes & their_reads),
                        ("race-waw", writes & their_writes),
                        ("race-gm", gm_reads & their_gm),
                    )
                    if hit
                }
            if codes:
                return kind, codes
            seen.append((pipe, reads, writes, gm_reads, gm_writes))
            known[pipe] = before | 1 << len(seen) - 1
    return None


@st.composite
def programs(draw):
    """Legal but for races: a flag is waited for when it is set and not set again before; none is left."""
    steps, raised, stored = [], {}, set()
    for _ in range(draw(st.integers(1, 24))):
        kind = draw(
            st.sampled_from(
                [
                    LOAD,
                    VECTOR,
                    VECTOR,
                    STORE,
                    AGAIN,
                    SET,
                    SET,
                    WAIT,
                    WAIT,
                    WAIT,
                    BARRIER,
                    SETVALUE,
                    GETVALUE,
                    EVERY_OTHER,
                ]
            )
        )
        if kind == SET:
            a, b = draw(st.integers(0, len(EVENTS) - 1)), draw(st.integers(0, 1))
            if (a, b) in raised:
                continue
            raised[a, b] = True
            n = 0
        elif kind == WAIT:
            if not raised:
                continue
            a, b = draw(st.sampled_from(sorted(raised)))
            del raised[a, b]
            n = 0
        elif kind == BARRIER:
            a, b, n = draw(st.integers(0, 3)), 0, 0
        elif kind == EVERY_OTHER:
            n = draw(st.integers(1, 3))
            a, b = draw(st.integers(0, BLOCKS - 2 * n)), 0
        else:
            n = draw(st.integers(1, 3))
            a, b = draw(st.integers(0, BLOCKS - n)), draw(st.integers(0, SLOTS - n))
            if kind == VECTOR and 0 < abs(a - b) < n:
                b = a
            if kind == STORE:
                stored |= set(range(b, b + n))
            if kind == AGAIN and not set(range(b, b + n)) <= stored:
                continue
            if kind in (SETVALUE, GETVALUE):
                b = b % 8
        steps.append((kind, a, b, n))
    return steps + [(WAIT, a, b, 0) for a, b in raised]


@pytest.fixture(scope="module")
def play():
    import torch

    k = labkit.kernel(FILE)
    x, z = torch.ones(64).npu(), torch.zeros(64).npu()

    def run(program, managed):
        data = b"".join(struct.pack("<4I", *step) for step in program) or bytes(16)
        return k[1](x, z, data, len(program), BLOCKS, int(managed))

    return run


def hold(play, program, managed):
    record = play(program, managed)
    assert record.finished
    first = first_race(program)
    # the order of copies of one pipe and of a load before a store is not modelled here: tests/faults has them
    others = {"copy-order", "race-gm-war"}
    if first is None:
        assert {f.code for f in record.findings} <= others, record.report()
        return
    kind, codes = first
    assert any(f.line == LINES[kind] and f.code in codes for f in record.findings), (
        f"{codes} at line {LINES[kind]}, but {record}"
    )
    assert {f.code for f in record.findings} <= {"race-raw", "race-war", "race-waw", "race-gm"} | others


@settings(max_examples=400)
@given(programs(), st.booleans())
def test_exactly_the_races(play, program, managed):
    hold(play, program, managed)


@settings(max_examples=300)
@given(programs(), st.booleans())
def test_a_barrier_after_every_step_leaves_none(play, program, managed):
    safe = [s for step in program for s in (step, (BARRIER, 0, 0, 0))]
    assert first_race(safe) is None
    hold(play, safe, managed)


@pytest.mark.parametrize("managed", [False, True])
@pytest.mark.parametrize(
    "program",
    [
        # a copy out splits what V read; the part behind the split is still V's
        [(VECTOR, 4, 0, 3), (STORE, 1, 0, 2), (SET, 4, 0, 0), (WAIT, 4, 0, 0), (LOAD, 2, 0, 1)],
        [(VECTOR, 4, 0, 3), (STORE, 0, 0, 2), (SET, 4, 0, 0), (WAIT, 4, 0, 0), (LOAD, 0, 0, 1)],
        [(VECTOR, 4, 0, 3), (STORE, 1, 0, 1), (SET, 4, 0, 0), (WAIT, 4, 0, 0), (LOAD, 1, 0, 1)],
        # of two loads only the first is waited for
        [(LOAD, 0, 0, 1), (SET, 0, 0, 0), (LOAD, 1, 0, 1), (WAIT, 0, 0, 0), (VECTOR, 4, 0, 2)],
        [(LOAD, 0, 0, 1), (SET, 0, 0, 0), (LOAD, 1, 0, 1), (WAIT, 0, 0, 0), (VECTOR, 4, 0, 1)],
        # order by way of a third pipe
        [
            (LOAD, 0, 0, 2),
            (SET, 5, 0, 0),
            (WAIT, 5, 0, 0),
            (STORE, 0, 0, 2),
            (SET, 3, 0, 0),
            (WAIT, 3, 0, 0),
            (VECTOR, 0, 0, 2),
        ],
        [(VECTOR, 0, 4, 1), (GETVALUE, 0, 0, 1), (STORE, 0, 0, 1)],
        [(VECTOR, 0, 4, 2), (GETVALUE, 2, 0, 1), (STORE, 0, 0, 1)],
        # the scalar unit waits for what it touches, each time anew
        [(LOAD, 1, 0, 1), (GETVALUE, 0, 0, 1), (GETVALUE, 1, 0, 1), (VECTOR, 4, 1, 1)],
        [(LOAD, 1, 0, 1), (GETVALUE, 1, 0, 1), (LOAD, 1, 0, 1), (GETVALUE, 1, 0, 1), (VECTOR, 4, 1, 1)],
        [(STORE, 1, 0, 1), (SETVALUE, 0, 0, 1), (SETVALUE, 1, 0, 1), (LOAD, 1, 0, 1)],
        [(STORE, 1, 0, 1), (GETVALUE, 1, 0, 1), (LOAD, 1, 0, 1)],
        [(STORE, 1, 0, 1), (SETVALUE, 1, 0, 1), (LOAD, 1, 0, 1)],
        # a barrier of one pipe is none for the others
        [(LOAD, 0, 0, 1), (BARRIER, 2, 0, 0), (VECTOR, 4, 0, 1)],
        [(VECTOR, 0, 4, 1), (BARRIER, 1, 0, 0), (STORE, 0, 0, 1)],
        [(STORE, 0, 0, 1), (BARRIER, 3, 0, 0), (LOAD, 0, 0, 1)],
        [(STORE, 0, 0, 1), (BARRIER, 0, 0, 0), (LOAD, 0, 0, 1)],
        # the blocks between are free
        [(EVERY_OTHER, 0, 0, 3), (VECTOR, 1, 1, 1), (STORE, 3, 0, 1)],
        [(EVERY_OTHER, 0, 0, 3), (VECTOR, 2, 1, 1)],
        # back from GM
        [(STORE, 0, 0, 2), (AGAIN, 4, 1, 1)],
        [(STORE, 0, 0, 2), (SET, 4, 1, 0), (WAIT, 4, 1, 0), (AGAIN, 4, 1, 1)],
    ],
)
def test_by_hand(play, program, managed):
    hold(play, program, managed)


def test_both_kinds_of_programs_come_up():
    """Of the programs above a good part races and a good part does not."""
    verdicts = []

    @settings(max_examples=300)
    @given(programs())
    def collect(program):
        if len(program) > 6:
            verdicts.append(first_race(program))

    collect()
    racing = [v for v in verdicts if v]
    assert 0.1 < len(racing) / len(verdicts) < 0.95
    assert {c for _, codes in racing for c in codes} >= {"race-raw", "race-war", "race-waw"}
