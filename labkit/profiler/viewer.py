"""A trace for viewers: a file that Perfetto takes, and a picture in the notebook that needs no network.

trace_view.json as torch_npu writes it is a list with texts for times and ids beyond 2^53; Perfetto rejects the list and
loses a quarter of a microsecond of each time. Here times begin at 0, ids are small, pid and tid are small numbers.
"""

from __future__ import annotations

import gzip
import html
import json
import os
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from labkit import messages
from labkit.profiler import raw, trace_view
from labkit.profiler.events import Session
from labkit.profiler.layout import Layout
from labkit.profiler.output_folder import OUTPUT
from labkit.profiler.settings import Settings

_THREAD = re.compile(r"Thread \d+")
_MOST = 40_000  # slices in the notebook's picture: about 2 MB of page


def read_events(source: Session | str | os.PathLike) -> list[dict]:
    """The events of a Session, of a folder *_ascend_pt, or of a trace file (a list, or an object with traceEvents;
    .gz too). Raises ValueError where there is no trace."""
    if isinstance(source, Session):
        settings = Settings(level="Level1", record_shapes=True, with_stack=True)
        return trace_view.TraceView(Layout(source, settings)).build()
    path = Path(source)
    if path.is_dir():
        found = path / OUTPUT / "trace_view.json"
        if not found.exists() and raw.exists(path):
            recording = raw.load(path)
            return trace_view.TraceView(recording.layout(), recording.marks).build()
        path = found
    try:
        data = path.read_bytes()
        content = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    except (OSError, ValueError) as problem:
        raise ValueError(messages.text("profiler.no_trace", path=source, problem=problem)) from problem
    events = content.get("traceEvents") if isinstance(content, dict) else content
    if not isinstance(events, list):
        raise ValueError(messages.text("profiler.no_trace", path=source, problem="no traceEvents"))
    return events


def _ns(text) -> int:
    """A time in us, text or number, as whole ns."""
    whole, _, rest = str(text).partition(".")
    if "e" in str(text).lower():
        return round(float(text) * 1000)
    return int(whole or 0) * 1000 + int((rest + "000")[:3])


def for_viewers(events: list[dict]) -> dict:
    """The same events: rebased to 0, wrapped, with small ids. Deterministic."""
    timed = [_ns(e["ts"]) for e in events if "ts" in e and e.get("ph") != "M"]
    base = min(timed, default=0)
    pids: dict = {}
    tids: dict = {}
    flows: dict = {}
    made, named = [], set()
    for event in events:
        pid = pids.setdefault(event.get("pid"), len(pids) + 1)
        tid = tids.setdefault((pid, event.get("tid")), len(tids) + 1)
        out = dict(event, pid=pid, tid=tid)
        if event.get("ph") == "M":
            out.pop("ts", None)
            if event["name"] == "thread_name":
                named.add((pid, event.get("tid")))
        elif "ts" in event:
            out["ts"] = (_ns(event["ts"]) - base) / 1000
        if "id" in event:
            out["id"] = flows.setdefault((event.get("cat"), event["id"]), len(flows) + 1)
        if event.get("ph") in ("s", "t", "f"):
            out["name"] = event.get("cat") or event["name"]  # Perfetto joins by cat, name and id
        made.append(out)
    for (pid, old), tid in tids.items():
        if (pid, old) not in named and isinstance(old, str):
            made.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": old}})
    return {"traceEvents": made, "displayTimeUnit": "ns", "otherData": {"simulated_or_rebased_from_ns": str(base)}}


def viewer_json(source: Session | str | os.PathLike, path: str | os.PathLike) -> Path:
    """Writes a trace that Perfetto (ui.perfetto.dev) and chrome://tracing take. source: as of read_events."""
    target = Path(path)
    text = json.dumps(for_viewers(read_events(source)), separators=(",", ":")).encode()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(text, mtime=0) if target.suffix == ".gz" else text)
    return target


# ---- in the notebook


def rows(events: list[dict]) -> tuple[list[dict], float, int]:
    """(rows, end in us, slices left out) of the picture. A row is a process' thread at one depth of nesting."""
    trace = for_viewers(events)["traceEvents"]
    names: dict[tuple, str] = {}
    for e in trace:
        if e.get("ph") == "M" and e["name"] in ("process_name", "thread_name"):
            names[e["name"], e["pid"], e["tid"] if e["name"] == "thread_name" else 0] = str(e["args"].get("name", ""))
    slices = sorted((e for e in trace if e.get("ph") == "X"), key=lambda e: (e["ts"], -e.get("dur", 0)))
    left_out = max(0, len(slices) - _MOST)
    kept = sorted(slices, key=lambda e: -e.get("dur", 0))[:_MOST] if left_out else slices
    threads: dict[tuple, list] = {}
    for e in sorted(kept, key=lambda e: (e["ts"], -e.get("dur", 0))):
        threads.setdefault((e["pid"], e["tid"]), []).append(e)
    texts: dict[str, int] = {}
    made, end = [], 0.0
    numbers: dict[str, int] = {}
    for (pid, tid), those in sorted(threads.items()):
        stack: list[float] = []
        bars = []
        for e in those:
            begin, dur = e["ts"], float(e.get("dur", 0))
            while stack and stack[-1] <= begin + 1e-9:
                stack.pop()
            bars.append([texts.setdefault(e["name"], len(texts)), round(begin, 3), round(dur, 3), len(stack)])
            stack.append(begin + dur)
            end = max(end, begin + dur)
        process, thread = names.get(("process_name", pid, 0), ""), names.get(("thread_name", pid, tid), "")
        # the system's number of a thread says nothing, and is another one in each run
        if _THREAD.fullmatch(thread):
            thread = f"Thread {numbers.setdefault(thread, len(numbers))}"
        made.append({"name": f"{process} · {thread}".strip(" ·"), "bars": bars})
    return [{"texts": list(texts), "rows": made}], end, left_out


def page(events: list[dict], title: str = "") -> str:
    """One HTML page with the picture and its controls; it asks for nothing outside of itself."""
    (data,), end, left_out = rows(events)
    note = messages.text("profiler.left_out", count=left_out) if left_out else ""
    template = resources.files("labkit.profiler").joinpath("viewer.html").read_text(encoding="utf-8")
    content = json.dumps({**data, "end": end}, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")
    for mark, text in (("TITLE", html.escape(title)), ("NOTE", html.escape(note)),
                       ("HELP", html.escape(messages.text("profiler.viewer_help"))), ("DATA", content)):  # fmt: skip
        template = template.replace(f"@{mark}@", text)
    return template


def show(source: Session | str | os.PathLike, height: int = 420):
    """A trace in the notebook: wheel zooms, dragging moves, a click tells a slice's name and times."""
    title = "" if isinstance(source, Session) else Path(source).name
    return Picture(page(read_events(source), title), title or "trace", height)


@dataclass(frozen=True, repr=False)
class Picture:
    """A trace that shows itself in a notebook; html is the page."""

    html: str
    title: str
    height: int = 420

    def __repr__(self) -> str:
        return f"<trace {self.title}>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{html.escape(self.title)}" srcdoc="{html.escape(self.html, quote=True)}" width="100%" '
            f'height="{self.height}" style="border:0" sandbox="allow-scripts"></iframe>'
        )
