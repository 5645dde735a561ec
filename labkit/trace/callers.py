"""Which line of the program the kernels' time comes from, where call stacks were recorded (with_stack)."""

from __future__ import annotations

import re

import polars as pl

from labkit.trace import model

# frames of PyTorch and torch_npu themselves: the line that is looked for is the program's
_LIBRARY = re.compile(
    r"[/\\](site-packages|dist-packages)[/\\](torch|torch_npu|labkit)[/\\]|^<|[/\\]labkit[/\\]device[/\\]"
)


def program_line(stack: str) -> str | None:
    """The innermost frame of a stack that is not PyTorch's own; None where there is none."""
    for frame in re.split(r";\s*", stack):
        frame = frame.strip()
        if "(" in frame and not _LIBRARY.search(frame):
            return frame
    return None


def top(trace: model.Trace, count: int = 10) -> list[dict]:
    """The lines whose kernels take most of the time: line, kernels, total_us, share of all kernels' time, and the type
    that takes most of it. [] without stacks. A backward node runs on a thread of autograd's, which has no stack: its
    kernels are not here, so the shares add up to less than 1."""
    host = trace.host.filter(pl.col("stack").is_not_null() & (pl.col("kind") == "op"))
    kernels = trace.compute().filter(pl.col("op_time").is_not_null())
    if not host.height or not kernels.height:
        return []
    host = host.select("thread", "start", "dur", stack=pl.col("stack").cast(pl.String)).filter(pl.col("stack") != "")
    lines = {stack: program_line(stack) for stack in host["stack"].unique().to_list()}
    host = host.with_columns(
        line=pl.col("stack").replace_strict(list(lines), list(lines.values()), return_dtype=pl.String)
    ).filter(pl.col("line").is_not_null())
    if not host.height:
        return []
    joined = kernels.select("type", "name", "dur", "op_time", thread="op_thread").sort("op_time").join_asof(
        host.drop("stack").sort("start").rename({"dur": "length"}),
        left_on="op_time", right_on="start", by="thread", strategy="backward", check_sortedness=False,
    )  # fmt: skip
    joined = joined.filter(pl.col("line").is_not_null() & (pl.col("op_time") <= pl.col("start") + pl.col("length")))
    whole = float(trace.compute()["dur"].sum()) or 1.0
    found = []
    for (line,), part in joined.group_by("line"):
        by_type = part.group_by(pl.coalesce("type", "name").alias("type")).agg(pl.col("dur").sum())
        best = by_type.sort(["dur", "type"], descending=[True, False])["type"][0]
        total = float(part["dur"].sum())
        found.append({"line": line, "kernels": part.height, "total_us": total, "share": total / whole, "type": best})
    return sorted(found, key=lambda row: (-row["total_us"], row["line"]))[:count]
