"""How many examples a test draws that takes long for each: a quarter in every run, all of them by LABKIT_DRAWN=all.

The examples are the first of the same sequence, for a test's name is its seed (tests/conftest.py).
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path


def whole() -> bool:
    return os.environ.get("LABKIT_DRAWN", "") == "all"


@lru_cache(maxsize=None)
def _sum_of(folder: Path) -> int:
    files = sorted(f for f in folder.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
    return zlib.crc32(b"".join(f.read_bytes() for f in files))


def one_in(many: int, name: str, folders: Iterable[Path]) -> bool:
    """Is `name` of the share, one in `many`, that a run takes? The checksum of it and of all that these folders hold
    decides: others after each change there.
    """
    sums = "".join(str(_sum_of(folder)) for folder in folders)
    return whole() or zlib.crc32(f"{name} {sums}".encode()) % many == 0


def examples(most: int) -> int:
    return most if whole() else max(most // 4, 10)


def half(names: Iterable[str], *folders: Path) -> list[str]:
    """One in two of the known-wrong kernels of an operator, whose folders these are."""
    return [name for name in names if one_in(2, name, folders)]
