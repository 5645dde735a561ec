"""What a learner sees of a launch: tables, a trace, a roofline, and what bounds it in words.

`explain(record)`, `compare(a, b)`, `roofline(record)`, `tables(record)`, `save(record, folder)`.
"""

from __future__ import annotations

from labkit.analysis.comparison import compare
from labkit.analysis.explanation import Explanation, explain
from labkit.analysis.files import save
from labkit.analysis.roofline_chart import roofline
from labkit.launch.msprof_tables import tables

__all__ = ["Explanation", "compare", "explain", "roofline", "save", "tables"]
