"""The fractal map: its arithmetic against numpy, and that the picture says what the arithmetic does."""

from __future__ import annotations

import numpy as np
import pytest
from figure_samples import all_text
from hypothesis import given
from hypothesis import strategies as st

from labkit import figures
from labkit.figures.fractals import ORDERS

SIZE, BYTES = st.integers(1, 70), st.sampled_from([1, 2, 4])


def memory(rows: int, columns: int, order: str, size: int) -> np.ndarray:
    """The matrix of element numbers, filled up with -1, as one line of memory."""
    high, wide = (32 // size, 16) if order == "Zn" else (16, 32 // size)
    full = np.full((-(-rows // high) * high, -(-columns // wide) * wide), -1)
    full[:rows, :columns] = np.arange(rows * columns).reshape(rows, columns)
    fractals = full.reshape(full.shape[0] // high, high, full.shape[1] // wide, wide)
    axes = {"Nz": (2, 0, 1, 3), "Zz": (0, 2, 1, 3), "Zn": (0, 2, 3, 1)}[order]
    return fractals.transpose(axes).ravel()


@given(SIZE, SIZE, st.sampled_from(["Nz", "Zz", "Zn"]), BYTES)
def test_every_element_lies_where_numpy_puts_it(rows, columns, order, size):
    line = memory(rows, columns, order, size)
    for row in {0, rows // 2, rows - 1}:
        for column in {0, columns // 3, columns - 1}:
            at = figures.layout_place(row, column, rows, columns, order, size)
            assert line[at] == row * columns + column


def test_rows_have_no_fractals():
    assert figures.layout_place(3, 5, 7, 11, "ND") == 38
    assert "no fractals" in figures.fractal_layout(7, 11, "ND").desc


def test_only_fractals_of_sixteen_columns_are_those_of_l0c():
    titles = [figures.fractal_layout(32, 32, "Nz", size).title for size in (1, 2, 4)]
    assert ["L0C" in title for title in titles] == [False, True, False]


@given(SIZE, SIZE, st.sampled_from(ORDERS), BYTES)
def test_the_text_has_the_padding_and_the_place(rows, columns, order, size):
    figure = figures.fractal_layout(rows, columns, order, size, mark=(rows - 1, columns - 1))
    at = figures.layout_place(rows - 1, columns - 1, rows, columns, order, size)
    assert f"is element {at} in memory, {at * size} bytes" in figure.desc
    if order != "ND":
        line = memory(rows, columns, order, size)
        empty = int((line < 0).sum())
        assert (f"{empty} elements (striped)" in figure.desc) == bool(empty)


def test_numbers_are_drawn_where_the_text_has_them():
    figure = figures.fractal_layout(32, 48, "Nz")
    assert "row 1 of fractals: numbers 1, 3, 5" in figure.desc
    assert {"0", "1", "2", "3", "4", "5"} <= set(all_text(figure))
    assert "row 1 of fractals: numbers 3, 4, 5" in figures.fractal_layout(32, 48, "Zz").desc


@pytest.mark.parametrize(
    "bad, what",
    [
        (dict(order="nz"), "order is"),
        (dict(rows=0), "sizes from 1"),
        (dict(dtype_bytes=8), "1, 2 or 4"),
        (dict(rows=4096, columns=4096), "at most"),
        (dict(mark=(0, 99)), "mark is"),
    ],
)
def test_what_cannot_be_drawn_says_so(bad, what):
    with pytest.raises(ValueError, match=what):
        figures.fractal_layout(**{"rows": 32, "columns": 32, **bad})
