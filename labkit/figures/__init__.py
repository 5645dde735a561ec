"""Figures: pure functions from data to deterministic SVG, each with a title and a description that tell the same in words.

`memory_ruler`, `pipe_timeline`, `compare_timelines`, `tiling_map`, `mismatch_map`, `core_on_one_page` and `ladder` return a
`Figure`; `memory_ruler_widget` and `pipes_widget` put sliders on two of them where ipywidgets is there.
"""
from __future__ import annotations

from .ruler import memory_ruler, memory_ruler_from_record
from .svg import Figure

__all__ = ["Figure", "memory_ruler", "memory_ruler_from_record"]
