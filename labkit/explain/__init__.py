"""What a learner sees of a launch: tables, a trace, a roofline, and what bounds it in words.

`explain(record)`, `compare(a, b)`, `roofline(record)`, `tables(record)`, `save(record, folder)`.
"""
from __future__ import annotations

import sys
import types

from .compare import compare
from .roofline import roofline
from .save import save
from .tables import tables
from .words import Explanation, explain

__all__ = ["Explanation", "compare", "explain", "roofline", "save", "tables"]


class _Module(types.ModuleType):
    # `labkit.explain` is this package, and `labkit.explain(record)` explains.
    def __call__(self, record) -> Explanation:
        return explain(record)


sys.modules[__name__].__class__ = _Module
