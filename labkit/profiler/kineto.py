"""A recording as torch.profiler's export_chrome_trace writes it (Kineto's form), on the virtual clock."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

from labkit import chips
from labkit.profiler import python_frames, trace_view
from labkit.profiler.events import EPOCH_NS, TensorFacts
from labkit.profiler.layout import COPIES, EVENTS, Layout, Work

_COPY_NAMES = {
    "copy_in": "Memcpy HtoD (Pinned -> Device)",
    "copy_out": "Memcpy DtoH (Device -> Pinned)",
    "copy": "Memcpy DtoD (Device -> Device)",
}
_CATEGORIES = {"user": "user_annotation", "step": "user_annotation", "mark": "user_annotation"}
# Kineto's pids of devices are their numbers; of streams the tid is the number, too. Reserved for what is no device:
_SPANS_PID = "Spans"


def _at(ns: int) -> float:
    return round((ns - EPOCH_NS) / 1000, 3)


class _Events:
    def __init__(self, layout: Layout):
        self.layout = layout
        self.events: list[dict] = []

    def build(self) -> list[dict]:
        self._metadata()
        self._host()
        self._device()
        return self.events

    def _slice(self, cat: str, name: str, pid, tid, begin: int, end: int, args: dict) -> None:
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": _at(begin),
                            "dur": round((end - begin) / 1000, 3), "args": args})  # fmt: skip

    def _flow(self, ph: str, name: str, number: int, pid, tid, at: int) -> None:
        event = {"ph": ph, "id": number, "pid": pid, "tid": tid, "ts": _at(at), "cat": name, "name": name}
        self.events.append(event | ({"bp": "e"} if ph == "f" else {}))

    def _metadata(self) -> None:
        layout = self.layout

        def meta(kind: str, pid, tid, **args) -> None:
            self.events.append({"ph": "M", "name": kind, "ts": _at(layout.begin), "pid": pid, "tid": tid,
                                "args": args})  # fmt: skip

        def process(pid, label: str, order: int) -> None:
            meta("process_name", pid, 0, name="python")
            meta("process_labels", pid, 0, labels=label)
            meta("process_sort_index", pid, 0, sort_index=order)

        process(layout.pid, "CPU", layout.pid)
        for tid in sorted({s.tid for s in layout.spans} | {layout.pid}):
            meta("thread_name", layout.pid, tid, name=f"thread {tid} (python)")
            meta("thread_sort_index", layout.pid, tid, sort_index=tid)
        for device in layout.devices:
            process(device, f"NPU {device}", 5000000 + device)
            for stream in sorted({w.stream for w in layout.works if w.device == device}):
                meta("thread_name", device, stream, name=f"stream {stream}")
                meta("thread_sort_index", device, stream, sort_index=stream)

    def _host(self) -> None:
        layout = self.layout
        # before the operators: of two rows with equal times the first is taken for the outer one
        for frame in python_frames.frames(layout):
            args = {"Python id": frame.number} | ({} if frame.parent is None else {"Python parent id": frame.parent})
            self._slice("python_function", frame.name, layout.pid, frame.tid, frame.begin, frame.end, args)
        for span in layout.spans:
            r = span.range
            args: dict = {"External id": span.index + 1, "Record function id": 0, "Ev Idx": span.index}
            if r.sequence >= 0:
                args |= {"Sequence number": layout.sequence(span), "Fwd thread id": r.forward_thread}
            if r.inputs is not None and layout.settings.record_shapes:
                args["Input Dims"] = [_dims(i) for i in r.inputs]
                args["Input type"] = [trace_view.input_type(i) for i in r.inputs]
            if r.stack and layout.settings.with_stack:
                args["Call stack"] = ";".join(r.stack)
            cat = _CATEGORIES.get(r.kind, "python_function" if r.kind == "module" else "cpu_op")
            self._slice(cat, span.name, layout.pid, span.tid, span.begin, span.end, args)
        for sequence, forward, backward in trace_view.forward_and_backward(layout):
            self._flow("s", "fwdbwd", sequence, layout.pid, forward.tid, forward.begin)
            self._flow("f", "fwdbwd", sequence, layout.pid, backward.tid, backward.begin)
        number = len(layout.works) + 1
        for call, begin, end in layout.calls:
            if call.task < 0:
                self._slice("privateuse1_runtime", call.name, layout.pid, layout.tid(call.thread), begin, end,
                            {"External id": call.range + 1, "correlation": number})  # fmt: skip
                number += 1

    def _device(self) -> None:
        layout = self.layout
        for work in layout.works:
            task, correlation = work.task, work.connection
            tid = layout.tid(task.thread)
            external = {"External id": task.range + 1, "correlation": correlation}
            launch = "aclrtMemcpyAsync" if task.kind in COPIES else work.call or "aclrtLaunchKernel"
            self._slice("privateuse1_runtime", launch, layout.pid, tid, work.issue_begin, work.issue_end, external)
            if task.kind in EVENTS:
                continue
            args = {**external, "queued": 0, "device": work.device, "context": 1, "stream": work.stream}
            if task.kind in COPIES:
                ns = work.end - work.begin
                args |= {"bytes": int(task.bytes), "memory bandwidth (GB/s)": task.bytes / ns if ns else 0.0}
                cat, name = "gpu_memcpy", _COPY_NAMES[task.kind]
            else:
                cat, name = "kernel", work.name
                args |= {"grid": [max(1, task.blocks), 1, 1], "block": [1, 1, 1]}
            if work.communicates:
                args |= _collective(work, layout)
            self._slice(cat, name, work.device, work.stream, work.begin, work.end, args)
            self._flow("s", "ac2g", correlation, layout.pid, tid, work.issue_begin)
            self._flow("f", "ac2g", correlation, work.device, work.stream, work.begin)
        for device in layout.devices:
            for step in layout.steps[device]:
                # a row of its own: a step's work may be on several streams
                self._slice("gpu_user_annotation", f"ProfilerStep#{step.number}", device, _SPANS_PID, step.begin,
                            step.end, {})  # fmt: skip


def _collective(work: Work, layout: Layout) -> dict:
    facts = work.task.inputs[0] if work.task.inputs else None
    return {
        "Collective name": work.op_type.removeprefix("hcom_").strip("_").lower(),
        "dtype": facts.dtype if facts else "",
        "In msg nelems": sum(trace_view.elements(t) for t in work.task.inputs),
        "Group size": work.task.ranks,
        "Process Group Name": work.task.group or "default_pg",
    }


def _dims(given) -> list:
    if isinstance(given, TensorFacts):
        return list(given.shape)
    return [_dims(g) for g in given if isinstance(g, TensorFacts)] if isinstance(given, list) else []


def content(layout: Layout, name: str = "", metadata: dict | None = None) -> dict:
    """The whole file as an object."""
    table = chips.load(layout.session.chip)
    properties = [
        {
            "id": device,
            "name": table["chip"]["name"],
            "totalGlobalMem": int(table["memory"]["hbm"]),
            "numSms": table["cores"]["aic"],
            "simulated": True,
        }
        for device in layout.devices
    ]
    made: dict = {
        "schemaVersion": 1,
        "deviceProperties": properties,
        "record_shapes": int(layout.settings.record_shapes),
        "profile_memory": int(layout.settings.profile_memory),
        "with_stack": int(layout.settings.with_stack),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": EPOCH_NS,
        "simulated": "true",
        **(metadata or {}),
        "traceName": name,
        "traceEvents": _Events(layout).build(),
    }
    info = _distributed()
    if info:
        made["distributedInfo"] = info
    return made


def _distributed() -> dict:
    import torch.distributed as dist

    if not (dist.is_available() and dist.is_initialized()):
        return {}
    return {"backend": dist.get_backend(), "rank": dist.get_rank(), "world_size": dist.get_world_size()}


def write(layout: Layout, path: str | os.PathLike, metadata: dict | None = None) -> None:
    """A .json or a .json.gz."""
    text = json.dumps(content(layout, str(path), metadata), separators=(",", ":")).encode()
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(text, mtime=0) if target.name.endswith(".gz") else text)


def kernels_by_range(layout: Layout) -> dict[str, list[list[Work]]]:
    """Of each name of a range the works that its calls issued themselves, in the order of the calls. A call inside
    one of the same name (aten::sum by way of another overload) is one with it."""
    found: dict[str, list[list[Work]]] = {}
    outer: dict[int, list[Work]] = {}
    for span in layout.spans:  # a parent stands before its children
        at = span.range.parent
        while 0 <= at < len(layout.spans) and layout.spans[at].name != span.name:
            at = layout.spans[at].range.parent
        if at not in outer:
            outer[span.index] = []
            found.setdefault(span.name, []).append(outer[span.index])
        else:
            outer[span.index] = outer[at]
        outer[span.index] += [layout.works[k] for k in span.works if layout.works[k].task.kind not in EVENTS]
    return found
