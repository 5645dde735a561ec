"""The CSV files of a trace: columns by their names in every generation of the headers, values as they were meant.

Times carry a TAB behind them, 0 to 3 decimals; "N/A" and "NA" are missing; shapes stand in quotes within quotes; lines
end in \\r\\n or \\n, some in a comma. Polars reads the text, only the columns that something here uses.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from labkit.trace import model
from labkit.trace.refusals import Problem, TraceError

# our name -> the names that it has had (lower case, without the unit)
KERNEL_COLUMNS = {
    "name": ("name", "op name", "kernel_name"),
    "type": ("type", "op type"),
    "core": ("accelerator core", "task type", "kernel_type"),
    "start": ("start time", "task start time", "task_start"),
    "dur": ("duration", "task duration", "task_time"),
    "wait": ("wait time", "task wait time"),
    "blocks": ("block num", "block dim"),
    "mix_blocks": ("mix block num", "mix block dim"),
    "stream": ("stream id", "stream_id"),
    "task": ("task id", "task_id"),
    "device": ("device_id", "device id"),
    "step": ("step id", "step_id"),
    "in_shapes": ("input shapes",),
    "in_types": ("input data types",),
    "in_formats": ("input formats",),
    "out_shapes": ("output shapes",),
    "out_types": ("output data types",),
    "out_formats": ("output formats",),
}
# the pipes of the counters: aic_mac_ratio, aiv_vec_ratio; on chips with one kind of core vec_exe_ratio or vec_ratio
PIPE = re.compile(r"^(?:(aic|aiv)_)?(mac|cube|vec|scalar|mte1|mte2|mte3|fixpipe)(?:_exe)?_ratio$")
_BLOCK = 16 << 20  # bytes of a file that are read at once
_MISSING = ("", "N/A", "NA", "n/a", "nan", "None")


def plain(head: str) -> str:
    """A column's name without unit, case and spaces at its ends."""
    return re.sub(r"\s*\((?:us|ms|ns|mb|kb|gb/s|%)\)\s*$", "", head.strip().strip("\ufeff").lower())


def heads(path: Path) -> list[str]:
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        return next(csv.reader(file), [])


def _value(head: str) -> pl.Expr:
    return pl.col(head).str.strip_chars(' \t\r"').replace(dict.fromkeys(_MISSING, None))


def real(head: str) -> pl.Expr:
    return _value(head).cast(pl.Float64, strict=False)


def nanoseconds(head: str) -> pl.Expr:
    """µs with up to three decimals as whole ns: a double would round a time since 1970 to a quarter of a µs."""
    parts = _value(head).str.splitn(".", 2)
    whole = parts.struct.field("field_0").cast(pl.Int64, strict=False)
    part = (parts.struct.field("field_1").fill_null("") + "000").str.slice(0, 3).cast(pl.Int64, strict=False)
    return whole * 1000 + part.fill_null(0)


def blocks(path: Path) -> Iterator[pl.DataFrame]:
    """The rows of a file as text, some megabytes at a time. Raises TraceError where there are no columns."""
    found = heads(path)
    if not found or not any(h.strip() for h in found):
        raise TraceError("empty_file", path=path)
    names = unique(found)
    with open(path, "rb") as file:
        file.readline()
        rest = b""
        while True:
            more = file.read(_BLOCK)
            rest += more
            cut = _line_end(rest) if more else len(rest)
            if cut:
                yield pl.read_csv(
                    io.BytesIO(rest[:cut]),
                    has_header=False,
                    new_columns=names,
                    schema_overrides=dict.fromkeys(names, pl.String),
                    infer_schema=False,
                    truncate_ragged_lines=True,
                    ignore_errors=True,
                    encoding="utf8-lossy",
                )
                rest = rest[cut:]
            if not more:
                return


def _line_end(text: bytes) -> int:
    """Behind the last line end that lies in no quoted field; 0 where there is none."""
    at = len(text)
    while (at := text.rfind(b"\n", 0, at)) >= 0:
        if text.count(b'"', 0, at) % 2 == 0:
            return at + 1
    return 0


def unique(found: list[str]) -> list[str]:
    """The heads with a name for a column that has none, and a number for one that comes again."""
    seen: dict[str, int] = {}
    names = []
    for i, head in enumerate(found):
        head = head.strip().strip("\ufeff") or f"column {i}"
        seen[head] = seen.get(head, 0) + 1
        names.append(head if seen[head] == 1 else f"{head} {seen[head]}")
    return names


def select(path: Path, wanted: dict[str, tuple[str, ...]], times=("start",), texts=(), more=()) -> pl.DataFrame:
    """The columns of `wanted` under our names; `times` as whole ns in `<name>_ns`. `more`: (our name, head, kind)."""
    by_plain: dict[str, str] = {}
    names_only = dict.fromkeys(unique(heads(path)), pl.String)
    for name in unique(heads(path)):
        by_plain.setdefault(plain(name), name)
    columns = []
    for ours, theirs in wanted.items():
        head = next((by_plain[t] for t in theirs if t in by_plain), None)
        if head is None:
            continue
        if ours in times:
            columns.append(nanoseconds(head).alias(f"{ours}_ns"))
        elif ours in texts:
            # by way of a categorical: a text that comes a thousand times is then kept once
            columns.append(_value(head).cast(pl.Categorical).cast(pl.String).alias(ours))
        else:
            columns.append(real(head).alias(ours))
    columns += [real(head).cast(pl.Float32).alias(ours) for ours, head in more]
    try:
        parts = [block.select(columns) for block in blocks(path)]
        if not parts:
            return pl.DataFrame([], schema=names_only).select(columns)
        return pl.concat(parts, rechunk=False)
    except pl.exceptions.PolarsError as error:
        raise TraceError("bad_csv", path=path, error=str(error).splitlines()[0]) from None


def _texts(schema: dict) -> tuple[str, ...]:
    return tuple(name for name, kind in schema.items() if kind == pl.String)


def kernels(path: Path) -> tuple[pl.DataFrame, str]:
    """The kernels of kernel_details.csv or op_summary*.csv with start_ns, and the generation of the headers."""
    names = heads(path)
    plains = {plain(n) for n in names}
    if (
        not {"start time", "task start time", "task_start"} & plains
        or not {"duration", "task duration", "task_time"} & plains
    ):
        raise TraceError("not_kernels", path=path, columns=", ".join(names[:6]))
    pipes = {}
    for name in names:
        if match := PIPE.match(plain(name)):
            unit, pipe = match.groups()
            pipes.setdefault(f"{unit or 'ai'}_{'mac' if pipe == 'cube' else pipe}", name.strip())
    table = select(path, KERNEL_COLUMNS, texts=_texts(model.KERNELS), more=pipes.items())
    table = table.filter(pl.col("start_ns").is_not_null() & pl.col("dur").is_not_null())
    return table, generation(plains)


def generation(plains: set[str]) -> str:
    """What the headers of kernel_details or op_summary say of the version that wrote them."""
    if "block num" in plains:
        return "CANN 9"
    if "device_id" in plains and "accelerator core" in plains:
        return "CANN 8.2 to 8.5"
    if "op state" in plains:
        return "CANN 8"
    if "accelerator core" in plains and "type" in plains and not ({"input shapes"} & plains):
        return "CANN 8, Level0"
    return "CANN 6 to 7"


def memory_record(path: Path) -> pl.DataFrame:
    return select(
        path,
        {
            "component": ("component",),
            "time": ("timestamp",),
            "allocated": ("total allocated",),
            "reserved": ("total reserved",),
            "active": ("total active",),
        },
        times=("time",),
        texts=("component",),
    )


def operator_memory(path: Path) -> pl.DataFrame:
    return select(
        path,
        {
            "name": ("name",),
            "kb": ("size",),
            "time": ("allocation time",),
            "released": ("release time",),
            "allocated": ("allocation total allocated",),
            "reserved": ("allocation total reserved",),
            "active": ("allocation total active",),
        },
        times=("time", "released"),
        texts=("name",),
    )


def step_trace(path: Path) -> pl.DataFrame:
    table = select(
        path,
        {
            "step": ("step",),
            "computing": ("computing",),
            "exposed": ("communication(not overlapped)",),
            "overlapped": ("overlapped",),
            "communication": ("communication",),
            "free": ("free",),
            "stage": ("stage",),
            "bubble": ("bubble",),
            "preparing": ("preparing",),
        },
        times=(),
        texts=("step",),
    )
    return model.fitted(table, model.STEP_TIMES)


def try_table(read, path: Path, problems: list) -> pl.DataFrame | None:
    """read(path), or None and a line in `problems`: a broken side file does not stop the rest."""
    try:
        return read(path)
    except TraceError as error:
        problems.append(error.problem)
    except (OSError, pl.exceptions.PolarsError, csv.Error, io.UnsupportedOperation) as error:
        problems.append(Problem("bad_csv", {"path": str(path), "error": str(error).splitlines()[0]}))
    return None
