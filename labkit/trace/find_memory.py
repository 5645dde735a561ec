"""Findings from the memory: the allocator at work within steps, cached memory that nothing fits into."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from labkit.trace.find_device import Context
from labkit.trace.finding import FLOOR, Finding, time

# torch_npu's allocator keeps blocks up to 1 MB in a pool of their own: whether the large pool would have had room is no
# question for them.
SMALL_KB = 1024.0


def growths(c: Context) -> list[dict]:
    """Allocations for which memory was fetched anew although more than that was cached and free: fragmentation."""
    table = c.trace.allocations.drop_nulls(["time", "reserved", "allocated", "kb"]).sort("time")
    if table.height < 2:
        return []
    reserved, kb = table["reserved"].to_numpy(), table["kb"].to_numpy()
    held = table["active"].fill_null(pl.lit(np.nan)).to_numpy()
    held = np.where(np.isnan(held) | (held <= 0), table["allocated"].to_numpy(), held)
    free = reserved[:-1] - held[:-1]
    grew = np.diff(reserved)
    # given back and fetched anew shows as a fall or a rise, as the sizes have it
    changed = (np.abs(grew) > 0) & (kb[1:] > SMALL_KB) & (free * 1024 >= kb[1:])
    rows = table[1:].filter(pl.Series(changed))
    return [
        {
            "name": r["name"],
            "start": r["time"],
            "dur": 0.0,
            "mb": r["kb"] / 1024,
            "reserved_mb": r["reserved"],
            "free_mb": float(f),
        }
        for r, f in zip(rows.iter_rows(named=True), free[changed])
    ]


def fragmentation(c: Context) -> Iterator[Finding]:
    total = c.idle.total("allocator")
    if total < FLOOR * c.idle.length:
        return
    events = growths(c)
    calls = c.trace.calls.filter(pl.col("name").str.contains(r"^aclrt(Malloc|Free)"))
    peak = peaks(c.trace)
    evidence = [
        {"name": r["name"], "start": r["start"], "dur": r["dur"]}
        for r in calls.sort("dur", descending=True).head(3).iter_rows(named=True)
    ]
    yield c.finding(
        "fragmentation" if events else "allocator",
        total,
        evidence + events[:3],
        count=calls.height,
        events=len(events),
        taken=time(calls["dur"].sum() / c.trace.step_count()),
        reserved=f"{peak.get('reserved', 0):.0f} MB",
        allocated=f"{peak.get('allocated', 0):.0f} MB",
    )


def peaks(trace) -> dict[str, float]:
    """The most that was allocated and reserved, MB, by PyTorch's allocator."""
    found = {}
    record = trace.memory.filter(pl.col("component").fill_null("").is_in(["PTA", "PTA+GE"]))
    for name in ("allocated", "reserved"):
        values = [v for t in (record, trace.allocations) if t.height and (v := t[name].max()) is not None]
        if values:
            found[name] = float(max(values))
    app = trace.memory.filter(pl.col("component") == "APP")["reserved"].max() if trace.memory.height else None
    if app is not None:
        found["process"] = float(app)
    return found


RULES = (fragmentation,)
