"""The raw form of a recording, which analyse() makes the tables of: FRAMEWORK/session.json.gz in its folder.

On a node this is the private binary form of torch_npu and CANN; here it is one JSON of the Session, its settings and
mstx's marks.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from labkit.profiler.events import Allocation, Call, HostRange, Session, Step, Task, TensorFacts
from labkit.profiler.layout import Layout
from labkit.profiler.settings import Settings

_PLACE = Path("FRAMEWORK") / "session.json.gz"
_LISTS = {"ranges": HostRange, "tasks": Task, "calls": Call, "allocations": Allocation, "steps": Step}


@dataclass(slots=True)
class Mark:
    """A mark or a range of mstx, in ns on the calendar. kind: "marker" or "start/end" or "push/pop"."""

    message: str
    kind: str
    domain: str
    thread: int
    begin: int
    end: int


@dataclass
class Recording:
    """One window of a program, with all that its tables need."""

    session: Session
    settings: Settings
    pid: int
    rank: int | None = None
    marks: list[Mark] = field(default_factory=list)

    def layout(self) -> Layout:
        return Layout(self.session, self.settings, self.pid, self.rank)


def save(recording: Recording, folder: Path) -> None:
    path = folder / _PLACE
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(recording), separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), 1, mtime=0))


def exists(folder: Path) -> bool:
    return (folder / _PLACE).is_file()


def load(folder: Path) -> Recording:
    """Raises OSError, ValueError for a folder without a whole one."""
    try:
        content = json.loads(gzip.decompress((folder / _PLACE).read_bytes()))
        return Recording(
            session=_session(content["session"]),
            settings=Settings(**content["settings"]),
            pid=content["pid"],
            rank=content["rank"],
            marks=[Mark(**m) for m in content["marks"]],
        )
    except (EOFError, KeyError, TypeError, gzip.BadGzipFile) as problem:
        raise ValueError(f"{folder / _PLACE} is cut off or was written by another version: {problem!r}") from problem


def _session(content: dict) -> Session:
    names = {f.name for f in fields(Session)}
    lists = {key: [kind(**_tensors(row)) for row in content[key]] for key, kind in _LISTS.items()}
    return Session(**{key: value for key, value in content.items() if key in names} | lists)


def _tensors(row: dict) -> dict:
    for key in ("inputs", "outputs"):
        if row.get(key):
            row[key] = [_argument(one) for one in row[key]]
    if "stack" in row:
        row["stack"] = tuple(row["stack"])
    return row


def _argument(one):
    if isinstance(one, dict):
        return TensorFacts(tuple(one["shape"]), one["dtype"], one["format"])
    return [_argument(inner) for inner in one] if isinstance(one, list) else one
