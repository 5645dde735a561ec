"""Reads the events of a trace as they stand in the file, some megabytes at a time.

A trace of some gigabytes is one list on one line, so it cannot be cut at line ends. A block is cut behind an element
instead: at a `}` that a `,` and a `{` follow. Such a place may also lie inside a string or inside an element; the part
before it is then no complete list and does not decode, and an earlier place is tried. What decodes is therefore right.

DuckDB builds the same tables from a file of 1 GB in two thirds of the CPU time, with 30 % more memory
(data/trace_engines.csv, scripts/trace_duckdb.py). It is not used: it refuses a file that stops in the middle, an object
with "traceEvents" (torch.profiler's export) and an element of another form than the rest; times without quotes it takes
for doubles, which since 1970 have quarters of a microsecond, so that flows miss their kernels; and it needs room on
disk. A second reader would be needed for all of these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

# Bytes. Larger ones are no faster, and with 8 MB the objects of a block are 80 MB.
BLOCK = 2 << 20
_BOUNDARY = re.compile(rb"\}\s*,\s*(?=\{)")
_HEAD = re.compile(rb'"traceEvents"\s*:\s*\[')
_TRIES = 60  # places that are tried from a block's end backwards before more of the file is read


class Args(msgspec.Struct, gc=False):
    """The arguments of an event that anything here looks at."""

    name: Any = None
    labels: Any = None
    task_type: Any = msgspec.field(default=None, name="Task Type")
    stream: Any = msgspec.field(default=None, name="Physic Stream Id")
    task: Any = msgspec.field(default=None, name="Task Id")
    connection: Any = msgspec.field(default=None, name="connection_id")
    dims: Any = msgspec.field(default=None, name="Input Dims")
    types: Any = msgspec.field(default=None, name="Input type")
    stack: Any = msgspec.field(default=None, name="Call stack")
    level: Any = None
    algorithm: Any = msgspec.field(default=None, name="alg_type")
    data_type: Any = None
    count: Any = None
    source: Any = msgspec.field(default=None, name="src rank")
    target: Any = msgspec.field(default=None, name="dst rank")
    size: Any = msgspec.field(default=None, name="size(Byte)")
    size_b: Any = msgspec.field(default=None, name="size(B)")
    transport: Any = msgspec.field(default=None, name="transport type")
    bandwidth: Any = msgspec.field(default=None, name="bandwidth(GB/s)")
    # torch.profiler's own export
    gpu_stream: Any = msgspec.field(default=None, name="stream")
    correlation: Any = None
    gpu_dims: Any = msgspec.field(default=None, name="Input dims")


class Event(msgspec.Struct, gc=False):
    """One element of the list. `ts` and `dur` stay as written: a double has no room for microseconds since 1970."""

    ph: Any = None
    name: Any = ""
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = msgspec.Raw(b"")
    dur: Any = None
    cat: Any = None
    id: Any = None
    args: Args | None = None


@dataclass
class Ending:
    """How the reading ended. `broken`: the byte at which the file stops making sense, None where it ends well."""

    events: int = 0
    size: int = 0
    broken: int | None = None
    listed: bool = True  # a list of events was found at all


def nanoseconds(raw: bytes) -> int | None:
    """The time in ns of `raw`: digits of microseconds, in quotes or not; None where there is none."""
    text = raw.strip(b'" \t')
    whole, _, part = text.partition(b".")
    try:
        return int(whole) * 1000 + (int((part + b"00")[:3]) if part else 0)
    except ValueError:
        try:
            return int(Decimal(text.decode("latin-1")) * 1000)
        except (InvalidOperation, ValueError):
            return None


def _decode(part: bytes) -> list[Event] | None:
    """The events of a piece of the list, None where the piece is no list."""
    try:
        return _EVENTS.decode(part)
    except msgspec.ValidationError:
        return _tolerant(part)
    except msgspec.DecodeError:
        return None


_EVENTS = msgspec.json.Decoder(list[Event])


def _tolerant(part: bytes) -> list[Event] | None:
    """As _decode, for a list in which some elements are not of the form (args a text, an element no object)."""
    try:
        rows = msgspec.json.decode(part, type=list[msgspec.Raw])
    except msgspec.DecodeError:
        return None
    found = []
    for row in rows:
        try:
            found.append(msgspec.json.decode(row, type=Event))
        except msgspec.DecodeError:
            try:
                plain = msgspec.json.decode(row, type=dict[str, msgspec.Raw])
                plain.pop("args", None)
                found.append(msgspec.json.decode(msgspec.json.encode(plain), type=Event))
            except msgspec.DecodeError:
                continue
    return found


def _closed(part: bytes) -> list[Event] | None:
    """The events of `part`, in which the list ends and something may follow; None where it does not end."""
    end = len(part)
    for _ in range(20):  # the last `]` that closes a complete list
        end = part.rfind(b"]", 0, end)
        if end < 0:
            return None
        found = _decode(part[: end + 1])
        if found is not None:
            return found
    return None


def events(
    path: Path, ending: Ending, progress: Callable[[int], None] | None = None, block: int = BLOCK
) -> Iterator[list[Event]]:
    """The events of a file in its order, a list a block; `ending` is filled in at the end."""
    with open(path, "rb") as file:
        ending.size = path.stat().st_size
        rest, offset = file.read(block), 0
        if progress:
            progress(len(rest))
        head = rest.lstrip(b"\xef\xbb\xbf \t\r\n")
        if head.startswith(b"["):
            offset = len(rest) - len(head) + 1
            rest = head[1:]
        elif head.startswith(b"{"):
            while not (match := _HEAD.search(rest)):
                more = file.read(block)
                if not more:
                    ending.listed = False
                    return
                if progress:
                    progress(len(more))
                offset += max(len(rest) - 64, 0)
                rest = rest[-64:] + more
            offset += match.end()
            rest = rest[match.end() :]
        else:
            ending.listed = False
            return
        while True:
            more = file.read(block)
            if progress and more:
                progress(len(more))
            if not more:
                break
            rest += more
            tried = 0
            for cut in _boundaries(rest):
                found = _decode(b"[" + rest[: cut[0]] + b"]")
                if found is not None:
                    ending.events += len(found)
                    yield found
                    found = None  # or two blocks of objects would be alive while the next one is decoded
                    offset += cut[1]
                    rest = rest[cut[1] :]
                    break
                tried += 1
                if tried == _TRIES:
                    break
            else:
                tried = _TRIES
            if tried == _TRIES and (found := _closed(b"[" + rest)) is not None:  # an object goes on behind the list
                ending.events += len(found)
                yield found
                return
            if len(rest) > 64 * block:  # no element is that large: what stands here is no list of events
                ending.broken = offset
                return
        found = _decode(b"[" + rest) or _closed(b"[" + rest)
        if found is not None:
            ending.events += len(found)
            yield found
            return
        # the file stops inside the list: what is whole counts
        for cut in islice(_boundaries(rest), _TRIES):
            if (found := _decode(b"[" + rest[: cut[0]] + b"]")) is not None:
                ending.events += len(found)
                yield found
                ending.broken = offset + cut[0]
                return
        ending.broken = offset if rest.strip() or not ending.events else ending.size


def _boundaries(text: bytes) -> Iterator[tuple[int, int]]:
    """(end of an element, start of the next) of each possible boundary, the last first."""
    end = len(text)
    window = 1 << 16
    while end > 0:
        start = max(end - window, 0)
        # a boundary that straddles two windows is found in the longer look at the earlier one
        for match in reversed(list(_BOUNDARY.finditer(text, start, min(end + 256, len(text))))):
            if match.start() < end:
                yield match.start() + 1, match.end()
        end = start
