"""Findings from the kernels themselves: AI CPU, conversions, cores that stand still, pipes that wait."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import polars as pl

from labkit.trace import intervals, model
from labkit.trace.find_device import Context
from labkit.trace.finding import FLOOR, Finding, time

# The host needs about this long for an operator (chips/910B1.toml, launch.dispatch): a kernel that got shorter by less
# would not bring the next one forward.
DISPATCH_US = 6.0
# A unit that is busy in less than half of a kernel's time: the stages then run one behind the other. With two buffers
# two of them overlap, and one has to be above a half.
OVERLAPPED = 0.5
# From this share on msprof-analyze calls a kernel bound by a unit; taken as what can be reached.
BOUND = 0.8


def alone_us(c: Context, chosen: pl.DataFrame) -> float:
    """How long the device did nothing else than `chosen`."""
    rows = c.kernels.with_row_index("row")
    keys = ["start", "stream", "name"]
    others = rows.join(chosen.select(keys), on=keys, how="anti", nulls_equal=True)
    return intervals.total(intervals.subtract(model.spans(chosen), model.spans(others)))


def _rows(table: pl.DataFrame, count: int = 3) -> list[dict]:
    """The longest kernels as evidence."""
    keep = ("name", "start", "dur", "core", "blocks", "in_shapes", "in_types", "in_formats")
    table = table[table["dur"].arg_sort(descending=True).head(count)]  # a sorted table would be a copy of all of it
    return [{k: r[k] for k in keep if r.get(k) is not None} for r in table.iter_rows(named=True)]


def _most(table: pl.DataFrame, column: str = "type") -> str:
    """The types that take most of the time."""
    sums = table.group_by(column).agg(pl.col("dur").sum(), pl.len()).sort(["dur", column], descending=[True, False])
    return ", ".join(f"{r[column]} ({r['len']} x)" for r in sums.head(3).iter_rows(named=True))


def ai_cpu(c: Context) -> Iterator[Finding]:
    rows = c.kernels.filter(pl.col("core").is_in(["AI_CPU", "KERNEL_AICPU"]))
    if rows.height and (total := alone_us(c, rows)) >= FLOOR * c.idle.length:
        yield c.finding("ai-cpu", total, _rows(rows), count=rows.height, types=_most(rows))


def casts(c: Context) -> Iterator[Finding]:
    rows = c.kernels.filter(pl.col("type").fill_null("").str.contains("^(Cast|CastV2|AscendCast)$"))
    if not rows.height or (total := alone_us(c, rows)) < FLOOR * c.idle.length:
        return
    yield c.finding(
        "dtype-casts",
        total,
        _rows(rows),
        count=rows.height,
        back=_round_trips(rows, "in_types", "out_types"),
        pairs=_pairs(rows, "in_types", "out_types"),
    )


def formats(c: Context) -> Iterator[Finding]:
    rows = c.kernels.filter(pl.col("type").fill_null("").str.contains("^(TransData|TransDataRNN|FormatTransfer)"))
    if not rows.height or (total := alone_us(c, rows)) < FLOOR * c.idle.length:
        return
    yield c.finding(
        "format-conversions",
        total,
        _rows(rows),
        count=rows.height,
        pairs=_pairs(rows, "in_formats", "out_formats"),
        back=_round_trips(rows, "in_formats", "out_formats"),
    )


def _round_trips(rows: pl.DataFrame, source: str, target: str) -> int:
    """Conversions that are undone later: a to b, and the next one of the same number of elements b to a."""
    waiting: dict[tuple, int] = {}
    found = 0
    for r in rows.sort("start").iter_rows(named=True):
        a, b = r[source], r[target]
        if a is None or b is None or a == b:
            continue
        if waiting.get((b, a), 0):
            waiting[b, a] -= 1
            found += 1
        else:
            waiting[a, b] = waiting.get((a, b), 0) + 1
    return found


def _pairs(rows: pl.DataFrame, source: str, target: str) -> str:
    known = rows.filter(pl.col(source).is_not_null() & pl.col(target).is_not_null())
    sums = known.group_by(source, target).len().sort(["len", source, target], descending=[True, False, False])
    return ", ".join(f"{r[source]} -> {r[target]} ({r['len']} x)" for r in sums.head(3).iter_rows(named=True)) or "?"


def cores_of(c: Context) -> dict[str, float]:
    """How many cores a kernel of each kind can have: from info.json, else the most that any kernel had."""
    aic, aiv = c.trace.cores.get("aic"), c.trace.cores.get("aiv")
    known = {"AI_CORE": aic, "MIX_AIC": aic, "AI_VECTOR_CORE": aiv, "MIX_AIV": aiv}
    most = dict(c.kernels.group_by("core").agg(pl.col("blocks").max()).iter_rows())
    return {core: float(known.get(core) or most.get(core) or 0) for core in most if core}


def few_cores(c: Context) -> Iterator[Finding]:
    cores = cores_of(c)
    on_cores = (pl.col("blocks") > 0) & pl.col("core").is_in(["AI_CORE", "AI_VECTOR_CORE", "MIX_AIC", "MIX_AIV"])
    rows = c.kernels.with_row_index("row").select("row", "core", "blocks", "dur").filter(on_cores)
    if not rows.height:
        return
    have = rows["core"].replace_strict(cores, default=0.0, return_dtype=pl.Float64)
    have = have.to_numpy()
    idle_share = np.where(have > 0, 1 - np.minimum(rows["blocks"].to_numpy() / np.maximum(have, 1), 1), 0.0)
    saved = rows["dur"].to_numpy() * idle_share
    # half of the cores: up to there it is a matter of how a size divides
    chosen = (idle_share >= 0.5) & (saved >= DISPATCH_US)
    rows = c.kernels[rows["row"].to_numpy()[chosen]].with_columns(pl.Series("saved", saved[chosen]))
    if not rows.height or (total := float(rows["saved"].sum())) < FLOOR * c.idle.length:
        return
    top = rows.group_by("type").agg(pl.col("saved").sum(), pl.col("blocks").median())
    top = top.sort(["saved", "type"], descending=[True, False])  # of equal ones the same in every run
    first = rows.filter(pl.col("type").eq_missing(top["type"][0]))  # its blocks are told beside the cores it can have
    core = first.sort("dur", descending=True)["core"][0]
    yield c.finding(
        "few-cores",
        total,
        _rows(rows),
        types=_most(rows),
        blocks=int(top["blocks"][0]),
        cores=int(cores.get(core, 0)),
        count=rows.height,
    )


def best_pipe(rows: pl.DataFrame) -> tuple[np.ndarray, np.ndarray, list[str]] | None:
    """(share of the busiest pipe, its place in the names) of each kernel, and the names; None without counters."""
    columns = [col for col in rows.columns if re.match(r"^(aic|aiv|ai)_(mac|vec|scalar|mte1|mte2|mte3|fixpipe)$", col)]
    if not columns or not rows.height:
        return None
    # one column at a time: a recording has millions of kernels
    best, which = np.zeros(rows.height, np.float32), np.zeros(rows.height, np.int8)
    for i, column in enumerate(columns):
        values = np.nan_to_num(rows[column].cast(pl.Float32).to_numpy(), nan=0.0)
        higher = values > best
        best[higher], which[higher] = values[higher], i
    return best, which, columns


def low_utilisation(c: Context) -> Iterator[Finding]:
    rows = c.kernels  # not filtered before it has to be: that would copy all of it
    found = best_pipe(rows)
    if found is None:
        return
    share, which, names = found
    saved = rows["dur"].to_numpy() * (1 - share / BOUND)
    chosen = (share > 0) & (share < OVERLAPPED) & (saved >= DISPATCH_US)
    chosen &= (rows["core"] != "AI_CPU").fill_null(True).to_numpy()
    if not chosen.any() or (total := float(saved[chosen].sum())) < FLOOR * c.idle.length:
        return
    # most kernels of a recording may be among them, so only what is asked of all of them is copied
    longest = int(np.argmax(np.where(chosen, rows["dur"].to_numpy(), -1.0)))
    named = rows.select("type", "dur").filter(pl.Series(chosen))
    first = np.flatnonzero(chosen)[named["dur"].arg_sort(descending=True).head(3).to_numpy()]
    yield c.finding(
        "low-utilisation",
        total,
        _rows(rows[first]),
        types=_most(named),
        count=named.height,
        pipe=names[which[longest]],
        best=f"{100 * share[longest]:.0f} %",
    )


RULES = (ai_cpu, casts, formats, few_cores, low_utilisation)


def top(trace: model.Trace, count: int = 15) -> list[dict]:
    """The kernels by name, type and shape that take most of the time."""
    rows = trace.compute()
    columns = [col for col in rows.columns if re.match(r"^(aic|aiv|ai)_\w+$", col)]
    table = (
        rows.group_by("type", "name", "core", "in_shapes", "in_types")
        .agg(
            pl.len().alias("count"),
            pl.col("dur").sum().alias("total"),
            pl.col("dur").mean().alias("mean"),
            pl.col("dur").min().alias("least"),
            pl.col("dur").max().alias("most"),
            pl.col("blocks").median(),
            *(pl.col(col).mean() for col in columns),
        )
        .sort(["total", "name", "in_shapes"], descending=[True, False, False])
        .head(count)
    )
    whole = float(rows["dur"].sum()) or 1.0
    found = []
    for r in table.iter_rows(named=True):
        pipes = {col: r[col] for col in columns if r[col]}
        best = max(pipes, key=lambda k: (pipes[k], k), default=None)
        found.append(
            {
                "type": r["type"],
                "name": r["name"],
                "core": r["core"],
                "shapes": r["in_shapes"],
                "types": r["in_types"],
                "count": r["count"],
                "total_us": r["total"],
                "share": r["total"] / whole,
                "mean_us": r["mean"],
                "min_us": r["least"],
                "max_us": r["most"],
                "blocks": r["blocks"],
                "pipe": best,
                "pipe_share": pipes.get(best),
            }
        )
    return found


__all__ = ["RULES", "top", "time"]
