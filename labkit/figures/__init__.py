"""Figures: pure functions from data to deterministic SVG, each with a title and a description
that say the same in words.

`memory_ruler`, `pipe_timeline`, `compare_timelines`, `tiling_map`, `mismatch_map`, `core_on_one_page`, `curves`,
`fractal_layout`, `ladder`, `stream_timeline`, `slicing`, `buffering` and `cube_vector` return a `Figure`;
`memory_ruler_widget` and `pipes_widget` put sliders on two of them where ipywidgets is there.
"""

from __future__ import annotations

from labkit.figures.concepts import buffering, cube_vector, slicing
from labkit.figures.curve_plot import curves
from labkit.figures.fractals import fractal_layout, layout_place
from labkit.figures.ladder_plot import ladder
from labkit.figures.mismatch import find_period, mismatch_map
from labkit.figures.pipes import core_on_one_page
from labkit.figures.ruler import memory_ruler, memory_ruler_from_record
from labkit.figures.streams import stream_timeline
from labkit.figures.svg import Figure
from labkit.figures.tiling import split_aligned, split_even, tiling_map
from labkit.figures.timeline import compare_timelines, pipe_timeline
from labkit.figures.widgets import memory_ruler_widget, pipes_widget

__all__ = [
    "Figure",
    "buffering",
    "compare_timelines",
    "core_on_one_page",
    "cube_vector",
    "curves",
    "find_period",
    "fractal_layout",
    "ladder",
    "layout_place",
    "memory_ruler",
    "memory_ruler_from_record",
    "memory_ruler_widget",
    "mismatch_map",
    "pipe_timeline",
    "pipes_widget",
    "slicing",
    "split_aligned",
    "split_even",
    "stream_timeline",
    "tiling_map",
]
