"""trace_view.json: a list of events, with times as text, as torch_npu writes it."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

from labkit.profiler import kernel_names, overlap
from labkit.profiler.events import TensorFacts
from labkit.profiler.layout import COPIES, EVENTS, Layout, Span, us, us_text

# sort_index of each process, which is a part of its pid too: CANN 8 and 9 as in published traces
_SORT = {
    8: {"CANN": 7, "Ascend Hardware": 13, "Communication": 15, "NPU MEM": 19, "Overlap Analysis": 23, "MsprofTx": 6},
    9: {"CANN": 7, "Ascend Hardware": 14, "Communication": 16, "NPU MEM": 17, "Overlap Analysis": 30, "MsprofTx": 6},
}
_NO_ID = 4294967295


class TraceView:
    """The events of one recording; marks: of mstx, as recording.Mark."""

    def __init__(self, layout: Layout, marks: list | None = None):
        self.layout, self.marks = layout, marks or []
        self.style = layout.settings.cann
        self.events: list[dict] = []

    def build(self) -> list[dict]:
        settings = self.layout.settings
        if settings.cpu:
            self._host()
        if settings.tasks:
            if settings.detailed:
                self._cann()
            for device in self.layout.devices:
                self._hardware(device)
                self._communication(device)
                self._overlap(device)
            self._flows()
        if self.marks:
            self._marks()
        return self.events

    def pid(self, process: str, device: int | None = None) -> int:
        """(process id << 10) | (sort index << 5) | device; rows of the host have 0 there with CANN 8, 31 with 9."""
        if device is None:
            device = 0 if self.style == 8 else 31
        return (self.layout.pid << 10) | (_SORT[self.style][process] << 5) | device

    # ---- rows

    def _process(self, process: str, pid: int, label: str, sort: int, threads: dict[int, str]) -> None:
        def meta(kind: str, tid: int, **args) -> None:
            self.events.append({"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": args})

        meta("process_name", 0, name=process)
        meta("process_labels", 0, labels=label)
        meta("process_sort_index", 0, sort_index=sort)
        for tid, name in sorted(threads.items()):
            meta("thread_name", tid, name=name)
            meta("thread_sort_index", tid, sort_index=tid)

    def _of_device(self, process: str, device: int, threads: dict[int, str]) -> int:
        pid = self.pid(process, device)
        label = "NPU" if self.style == 8 else f"NPU {device}"
        shown = "HCCL" if process == "Communication" and self.style == 8 else process
        self._process(shown, pid, label, _SORT[self.style][process], threads)
        return pid

    def _slice(self, name: str, pid: int, tid: int, begin: int, end: int, args: dict | None, cat: str = "") -> None:
        event = {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": us_text(begin), "dur": us(end - begin)}
        if cat:
            event["cat"] = cat
        if args is not None:
            event["args"] = args
        self.events.append(event)

    def _flow(self, ph: str, name: str, cat: str, number, pid: int, tid: int, at: int) -> None:
        self.events.append({"ph": ph, "bp": "e", "name": name, "id": number, "pid": pid, "tid": tid,
                            "ts": us_text(at), "cat": cat})  # fmt: skip

    # ---- Python's rows

    def _host(self) -> None:
        layout = self.layout
        names = Counter({layout.pid: 1})
        for span in layout.spans:
            names[span.tid] += 1
            self._slice(span.name, layout.pid, span.tid, span.begin, span.end, host_arguments(span, layout), "cpu_op")
        self._forward_and_backward()
        for work in layout.works if layout.settings.tasks else []:
            if not work.task.queued or work.task.kind in EVENTS:
                continue
            what = work.call or work.name
            tid, number = layout.tid(work.task.thread), {"correlation_id": work.connection}
            names[tid] += 1
            names[layout.queue_tid] += 1
            enqueue = "Enqueue" if self.style == 8 else f"Enqueue@{what}"
            # the model has no cost for the queue itself: the host's cost of dispatch is the call that empties it
            self._slice(enqueue, layout.pid, tid, work.issue_begin, work.issue_begin, number, "enqueue")
            self._flow("s", "enqueue_to_dequeue", "async_task_queue", work.connection, layout.pid, tid,
                       work.issue_begin)  # fmt: skip
            self._slice(f"Dequeue@{what}", layout.pid, layout.queue_tid, work.issue_begin, work.issue_end, number,
                        "dequeue")  # fmt: skip
            self._flow("f", "enqueue_to_dequeue", "async_task_queue", work.connection, layout.pid, layout.queue_tid,
                       work.issue_begin)  # fmt: skip
        self._process("Python", layout.pid, "CPU", 0, {tid: f"Thread {tid}" for tid in names})

    def _forward_and_backward(self) -> None:
        for sequence, *pair in forward_and_backward(self.layout):
            for ph, span in zip("sf", pair):
                self._flow(ph, "fwdbwd", "fwdbwd", sequence, self.layout.pid, span.tid, span.begin)

    # ---- CANN's rows

    def _cann(self) -> None:
        layout, pid, tids = self.layout, self.pid("CANN"), set()
        issued = {c.task for c, _, _ in layout.calls if c.task >= 0}
        connection = len(layout.works) + 1
        for call, begin, end in layout.calls:
            if call.task >= 0:
                continue
            tid = layout.tid(call.thread)
            tids.add(tid)
            self._acl(call.name, "ACL_RTS", pid, tid, begin, end, connection)
            connection += 1
        for work in layout.works:
            if work.task.kind in EVENTS and work.index not in issued:
                continue
            tid = layout.issuing_tid(work)
            tids.add(tid)
            if work.communicates:
                self._acl(work.call, "HOST_HCCL", pid, tid, work.issue_begin, work.issue_end, work.connection)
                level = "hccl" if self.style == 8 else "communication"
                args = {"Thread Id": tid, "Mode": "master", "level": level, "id": "0", "item_id": "Launch",
                        "connection_id": work.connection}  # fmt: skip
                self._slice("Hccl@Launch" if self.style == 8 else "Communication@Launch", pid, tid, work.issue_begin,
                            work.issue_end, args)  # fmt: skip
            elif work.computes:
                if work.call:
                    self._acl(work.call, "ACL_NN", pid, tid, work.issue_begin, work.issue_end, work.connection)
                args = {"Thread Id": tid, "Mode": "launch", "level": "node", "id": "0", "item_id": work.name,
                        "connection_id": work.connection}  # fmt: skip
                self._slice("Node@launch", pid, tid, work.issue_begin, work.issue_end, args)
            else:
                self._acl(work.call, "ACL_RTS", pid, tid, work.issue_begin, work.issue_end, work.connection)
        if tids:
            self._process("CANN", pid, "CPU", _SORT[self.style]["CANN"], {tid: f"Thread {tid}" for tid in tids})

    def _acl(self, name: str, mode: str, pid: int, tid: int, begin: int, end: int, connection: int) -> None:
        args = {"Thread Id": tid, "Mode": mode, "level": "acl", "id": name, "item_id": "0",
                "connection_id": connection}  # fmt: skip
        self._slice(f"AscendCL@{name}", pid, tid, begin, end, args)

    # ---- the devices' rows

    def _hardware(self, device: int) -> None:
        works = [w for w in self.layout.rows(device) if not w.communicates]
        pid = self._of_device("Ascend Hardware", device, {w.stream: f"Stream {w.stream}" for w in works})
        for work in works:
            args = {"Model Id": _NO_ID, "Task Type": work.type, "Physic Stream Id": work.stream,
                    "Task Id": work.task_id, "Batch Id": 0, "Subtask Id": _NO_ID,
                    "connection_id": work.connection}  # fmt: skip
            if self.style == 8 and work.computes:
                args["Task Type"] = "AI_CORE"
            if work.task.kind in COPIES:
                seconds = (work.end - work.begin) * 1e-9
                args |= {"size(B)": int(work.task.bytes),
                         "bandwidth(GB/s)": round(work.task.bytes / seconds / 1e9, 4) if seconds else 0.0,
                         "operation": kernel_names.COPY_OPERATIONS[work.task.kind]}  # fmt: skip
            self._slice(work.name, pid, work.stream, work.begin, work.end, args)

    def _communication(self, device: int) -> None:
        works = [w for w in self.layout.rows(device) if w.communicates]
        if not works:
            return
        pid = self._of_device("Communication", device, {w.plane: f"Group {w.plane} Communication" for w in works})
        for work in works:
            facts = work.task.inputs[0] if work.task.inputs else None
            count = sum(elements(t) for t in work.task.inputs)
            args = {"connection_id": work.connection, "model id": _NO_ID,
                    "data_type": kernel_names.dtype(facts.dtype, hccl=True) if facts else "N/A",
                    "alg_type": "MESH", "count": count}  # fmt: skip
            self._slice(work.name, pid, work.plane, work.begin, work.end, args)

    def _overlap(self, device: int) -> None:
        named = overlap.shares(self.layout, device).named()
        pid = self._of_device("Overlap Analysis", device, {i: name for i, (name, _) in enumerate(named)})
        for tid, (name, intervals) in enumerate(named):
            for begin, end in intervals:
                self._slice(name, pid, tid, begin, end, {})

    # ---- what joins them

    def _flows(self) -> None:
        layout, cann, taken = self.layout, self.pid("CANN"), set()
        for work in layout.works:
            if work.task.kind in EVENTS:
                continue
            process = "Communication" if work.communicates else "Ascend Hardware"
            pid, tid = self.pid(process, work.device), work.plane if work.communicates else work.stream
            if layout.settings.detailed:
                number = str(work.connection if self.style == 8 else work.connection << 32)
                name = f"HostToDevice{number}"
                ends = (("s", (cann, layout.issuing_tid(work), work.issue_begin)), ("f", (pid, tid, work.begin)))
                for ph, at in ends:
                    event = {"name": name, "ph": ph, "cat": "HostToDevice", "id": number, "pid": at[0], "tid": at[1],
                             "ts": us_text(at[2])}  # fmt: skip
                    self.events.append(event | ({"bp": "e"} if ph == "f" else {}))
            if layout.settings.cpu and 0 <= work.task.range < len(layout.spans):
                span = layout.spans[work.task.range]
                number = work.begin  # as on a node; two streams may begin within the same nanosecond, though
                while number in taken:
                    number += 1
                taken.add(number)
                self._flow("s", "torch_to_npu", "async_npu", number, layout.pid, span.tid, span.begin)
                self._flow("f", "torch_to_npu", "async_npu", number, pid, tid, work.begin)

    def _marks(self) -> None:
        """mstx's marks and ranges. Ranges of a thread may overlap: those that do not nest get a row of their own."""
        pid, rows = self.pid("MsprofTx"), {}
        for mark in sorted(self.marks, key=lambda m: (m.begin, -m.end)):
            tid = self.layout.tid(mark.thread)
            while True:
                stack = rows.setdefault(tid, [])
                while stack and stack[-1] <= mark.begin:  # they have ended: what is left encloses it, or overlaps
                    stack.pop()
                if not stack or mark.end <= stack[-1]:
                    break
                tid += 1000
            stack.append(mark.end)
            self._slice(mark.message, pid, tid, mark.begin, mark.end,
                        {"event_type": mark.kind, "domain": mark.domain})  # fmt: skip
        self._process("MsprofTx", pid, "CPU", _SORT[self.style]["MsprofTx"], {tid: f"Thread {tid}" for tid in rows})


def elements(facts: TensorFacts) -> int:
    return math.prod(facts.shape)


def host_arguments(span: Span, layout: Layout) -> dict:
    """args of a range of the host."""
    r = span.range
    args: dict = {"Sequence number": layout.sequence(span), "Fwd thread id": r.forward_thread}
    if layout.settings.record_shapes and r.inputs is not None:
        args["Input Dims"] = ";\r\n".join(input_shapes(r.inputs))
        args["Input type"] = ";\r\n".join(input_type(i) for i in r.inputs)
    if layout.settings.with_stack and r.stack:
        args["Call stack"] = ";\r\n".join(r.stack)
    return args


def input_shapes(inputs: list) -> list[str]:
    """Of each argument "2,3"; of one that is no tensor nothing."""
    return [",".join(map(str, i.shape)) if isinstance(i, TensorFacts) else "" for i in inputs]


def input_type(given) -> str:
    if isinstance(given, TensorFacts):
        return _CPP_TYPES.get(given.dtype.removeprefix("torch."), given.dtype)
    if isinstance(given, list):
        return "TensorList" if any(isinstance(g, TensorFacts) for g in given) else "ScalarList"
    return str(given or "")


# caffe2::TypeMeta's names of dtypes
_CPP_TYPES = {
    "float32": "float",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float64": "double",
    "int64": "long int",
    "int32": "int",
    "int16": "short int",
    "int8": "signed char",
    "uint8": "unsigned char",
    "bool": "bool",
}


def forward_and_backward(layout: Layout) -> list[tuple[int, Span, Span]]:
    """(autograd's number, forward operator, backward node) of each pair that was recorded."""
    ends: dict[int, dict[bool, Span]] = {}
    for span in layout.spans:
        if span.range.sequence >= 0 and span.range.kind in ("op", "backward"):
            pair = ends.setdefault(layout.sequence(span), {})
            back = span.range.kind == "backward"
            # autograd's engine opens two ranges with the number, as does a forward operator inside another one: of
            # the forward ones the last that began, of the backward ones the first
            if not back or back not in pair:
                pair[back] = span
    whole = [(number, p[False], p[True]) for number, p in sorted(ends.items()) if len(p) == 2]
    return [pair for pair in whole if pair[1].begin <= pair[2].begin]


def write(layout: Layout, path: Path, marks: list | None = None) -> None:
    """The whole file."""
    events = TraceView(layout, marks).build()
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(events))  # not dump(), which takes four times as long
