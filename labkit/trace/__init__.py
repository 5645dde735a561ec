"""Reads what a profiler wrote, on a node or here, and says where the time goes."""

from __future__ import annotations

import os
from pathlib import Path

# Polars' allocator keeps what is freed for ten seconds: a fifth of the memory that reading a gigabyte takes. It looks
# at this once, when Polars is loaded.
os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0")


def read(path: str | Path, progress: bool | None = None):
    """The recording at `path`: a `*_ascend_pt` or `PROF_*` folder, their parent, a trace_view.json, a
    kernel_details.csv, an op_summary*.csv or a .db. Returns a Profile. Raises TraceError, which says what is wrong."""
    from labkit.trace.profile import Profile
    from labkit.trace.reading import read_all

    return Profile(read_all(path, progress), Path(path))


def report(path: str | Path, progress: bool | None = None):
    """The Report of the recording at `path`."""
    return read(path, progress).report()


def findings(path: str | Path, progress: bool | None = None) -> list:
    """What is wrong in the recording at `path`, the most rewarding first."""
    return read(path, progress).findings()


def compare(before: str | Path, after: str | Path, progress: bool | None = None):
    """What changed between two recordings, and whether it is more than noise."""
    return read(before, progress).compare(read(after, progress))
