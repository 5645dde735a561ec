"""How many examples a test draws that takes long for each: a quarter in every run, all of them by LABKIT_DRAWN=all.

The examples are the first of the same sequence, for a test's name is its seed (tests/conftest.py).
"""

from __future__ import annotations

import os


def examples(whole: int) -> int:
    return whole if os.environ.get("LABKIT_DRAWN", "") == "all" else max(whole // 4, 10)
