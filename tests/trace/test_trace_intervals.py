"""Unions, gaps and overlaps against a count of unit steps."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.trace import intervals

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=12)


def cells(spans) -> set[int]:
    return {i for start, length in spans for i in range(start, start + length)}


def union(spans):
    return intervals.union([s for s, _ in spans], [s + n for s, n in spans])


def of(spans) -> set[int]:
    return {i for s, e in zip(*spans) for i in range(int(s), int(e))}


@settings(max_examples=200, deadline=None)
@given(SPANS, SPANS)
def test_sets_of_times_behave_as_sets(a, b):
    x, y = union(a), union(b)
    assert of(x) == cells(a) and intervals.total(x) == len(cells(a))
    assert of(intervals.subtract(x, y)) == cells(a) - cells(b)
    assert of(intervals.common(x, y)) == cells(a) & cells(b)
    assert of(intervals.gaps(x, 5, 30)) == set(range(5, 30)) - cells(a)
    starts, ends = np.array([3.0, 10.0]), np.array([12.0, 50.0])
    want = [len(cells(b) & set(range(3, 12))), len(cells(b) & set(range(10, 50)))]
    assert intervals.covered(starts, ends, y).tolist() == want


def test_touching_intervals_are_one():
    starts, ends = intervals.union([0, 5, 20], [5, 10, 30])
    assert list(zip(starts, ends)) == [(0, 10), (20, 30)]
