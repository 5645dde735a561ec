"""What a launch was, kept in tests/faults/pins.json and compared exactly:
modelled time, sums over its cores, findings with their numbers.

    pins.check("correct/softmax 7x100", record)

The launches are deterministic, so a difference is a change of the lab: of the clock, of a counter, of what a check
says. One that is meant is written down anew by `LABKIT_PINS=write python -m pytest tests/faults/test_correct_kernels.py
...` and read in the diff.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from places import TESTS

from labkit.launch.record import LaunchRecord, expect

FILE = TESTS / "faults" / "pins.json"
WRITE = os.environ.get("LABKIT_PINS") == "write"
# A launch that leaves its tensors meets what lies beside them: whether these are found, and its times, are not its own.
STRAY = ("gm-bounds", "gm-stray", "gm-overread", "gm-uninit")
PLACES = ("addr", "address", "pointer")  # numbers that depend on where the system put something


# Reported by the core that completes a meeting of all: which one that is the host's threads decide.
BY_LUCK = ("cross-many",)


def of(record, stray: bool = False) -> dict:
    """The record as plain data; stray: only what its neighbours in memory have no part in.

    Times are in nanoseconds; of the cores there are the sums, and the longest of their times.
    """
    sums = {}
    for core in record.cores:
        for name, value in core.items():
            if name not in ("block", "core", "begin", "time"):
                sums[name] = sums.get(name, 0) + value
    ns = {
        "time": record.time_us,
        "core": record.core_us,
        "longest": max((c["time"] for c in record.cores), default=0),
        "last begins": max((c["begin"] for c in record.cores), default=0),
    }
    kept = {
        "ns": {k: round(1e3 * v, 2) for k, v in ns.items()},
        "instructions": record.timeline_total,
        "ub": record.ub_used,
    }
    kept["sums"] = {
        k: round(1e3 * v, 2) if k.startswith("busy") or isinstance(v, float) else v for k, v in sums.items() if v
    }
    stray = stray or any(f.code in STRAY for f in record.findings)
    if stray:
        kept["ns"], kept["sums"] = {}, {}
    kept["findings"] = [
        f"{f.severity} {f.code} line {f.line} block {'?' if f.code in BY_LUCK else f.block} x{f.count} "
        + " ".join(f"{k}={v}" for k, v in sorted(f.numbers.items()) if k not in PLACES and not stray)
        for f in record.findings
        if f.code not in STRAY
    ]
    return kept


@contextmanager
def watch() -> Iterator[list[LaunchRecord]]:
    """The records of all launches in the body."""
    seen = expect("*")
    expect._open.append(seen)  # without its demand that there be a finding
    try:
        yield seen.records
    finally:
        expect._open.remove(seen)


def check(name: str, record) -> None:
    """Raises AssertionError with what differs from the kept one."""
    got = of(record)
    if WRITE:
        return _write(name, got)
    assert name in _kept(), f"{name} is not in {FILE.name}: run this test once with LABKIT_PINS=write"
    old = _kept()[name]
    told = list(_differences(old, got if old["ns"] else of(record, stray=True)))
    assert not told, (
        f"{name} is another launch than before (LABKIT_PINS=write keeps it as it is now):\n  " + "\n  ".join(told)
    )


def _differences(old: dict, new: dict):
    for part in ("ns", "sums"):
        for key in sorted({*old[part], *new[part]}):
            a, b = old[part].get(key, 0), new[part].get(key, 0)
            if a != b:
                yield f"{part} {key}: {a:g}, now {b:g}"
    for key in ("instructions", "ub"):
        if old[key] != new[key]:
            yield f"{key}: {old[key]}, now {new[key]}"
    yield from (f"no longer: {f}" for f in old["findings"] if f not in new["findings"])
    yield from (f"new: {f}" for f in new["findings"] if f not in old["findings"])
    if sorted(old["findings"]) == sorted(new["findings"]) and old["findings"] != new["findings"]:
        yield f"the findings in another order: {new['findings']}"


@cache
def _kept() -> dict:
    return json.loads(FILE.read_text(encoding="utf-8"))


def _write(name: str, got: dict) -> None:
    with open(FILE, "a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        kept = {**(json.loads(text) if text.strip() else {}), name: got}
        file.truncate(0)
        file.write("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(kept[k])}" for k in sorted(kept)) + "\n}\n")
