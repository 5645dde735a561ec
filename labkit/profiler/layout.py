"""A recording laid out as a profile has it: whole nanoseconds on the calendar, processes and threads with their
numbers, tasks with names, ids and connections, steps on the device. All writers read this one form, so that a kernel
has the same name, time and id in every file.
"""

from __future__ import annotations

import bisect
import os
import zlib
from dataclasses import dataclass, field

from labkit.profiler import kernel_names
from labkit.profiler.events import EPOCH_NS, Call, HostRange, Session, Step, Task
from labkit.profiler.settings import Settings

COPIES = ("copy_in", "copy_out", "copy")
EVENTS = {"event_record": "EVENT_RECORD", "event_wait": "EVENT_WAIT"}
_QUEUE_THREAD = 1  # added to the process id; a thread k > 0 of the program gets pid + 1 + k
_LOOSE_THREAD = 500  # from here on rows for ranges that overlap another one of their thread without nesting


def calendar_ns(time: float) -> int:
    """A time of the virtual clock as whole nanoseconds since 1970."""
    return EPOCH_NS + round(time)


def us_text(ns: int) -> str:
    """Microseconds with three decimals, exact, as the tables and ts have them."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def us(ns: int) -> float:
    """A duration in microseconds."""
    return round(ns / 1000, 3)


@dataclass(slots=True)
class Work:
    """A task of a device, laid out. type: Task Type of the trace; core: Accelerator Core; connection: what joins it
    with its rows of the host; row: "Ascend Hardware" or "Communication"; wait: ns that its stream was idle before it;
    issue_begin, issue_end: the host's call that issued it."""

    task: Task
    index: int
    name: str
    op_type: str
    core: str
    type: str
    call: str
    begin: int
    end: int
    issue_begin: int
    issue_end: int
    connection: int
    task_id: int
    wait: int = 0
    plane: int = 0
    step: int | None = None

    @property
    def device(self) -> int:
        return self.task.device

    @property
    def stream(self) -> int:
        return self.task.stream

    @property
    def computes(self) -> bool:
        return self.task.kind == "kernel"

    @property
    def communicates(self) -> bool:
        return self.task.kind == "collective"


@dataclass(slots=True)
class Span:
    """A range of the host, laid out. tid: its row; works: indices of what was issued right in it, not in a child."""

    range: HostRange
    index: int
    begin: int
    end: int
    tid: int
    children: list[int] = field(default_factory=list)
    works: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.range.name


@dataclass(slots=True)
class DeviceStep:
    """A step as a device saw it: from its first task to the next step's first; host_begin: where the host's began."""

    number: int
    begin: int
    end: int
    host_begin: int
    host_end: int


class Layout:
    """See above. cann: 9 or 8; rank: of this process, None where there is but one."""

    def __init__(self, session: Session, settings: Settings, pid: int | None = None, rank: int | None = None):
        self.session, self.settings, self.rank = session, settings, rank
        self.pid = os.getpid() if pid is None else pid
        self.begin, self.end = calendar_ns(session.begin), calendar_ns(session.end)
        # autograd counts on from one recording to the next; here the first number of a recording is 1
        numbers = [r.sequence for r in session.ranges if r.sequence >= 0]
        self._before_first = min(numbers, default=1) - 1
        self.calls = [(c, calendar_ns(c.start), calendar_ns(c.end)) for c in session.calls]
        self.spans = self._spans()
        self.works = self._works()
        self.devices = sorted({w.device for w in self.works}) or [0]
        self._order_streams()
        for work in self.works:
            if 0 <= work.task.range < len(self.spans):
                self.spans[work.task.range].works.append(work.index)
        self.steps = {device: self._device_steps(device) for device in self.devices}
        self._number_steps()

    # ---- rows

    def tid(self, thread: int) -> int:
        """The thread's number: the process' own for the one that started the recording."""
        return self.pid if thread == 0 else self.pid + 1 + thread

    @property
    def queue_tid(self) -> int:
        """The thread that empties torch_npu's host queue."""
        return self.pid + _QUEUE_THREAD

    def issuing_tid(self, work: Work) -> int:
        """The thread whose calls of ACL issued it."""
        return self.queue_tid if work.task.queued else self.tid(work.task.thread)

    def sequence(self, span: Span) -> int:
        """Autograd's number of a range, counted from 1 in each recording; -1 where it has none."""
        return span.range.sequence - self._before_first if span.range.sequence >= 0 else -1

    # ---- the host

    def _spans(self) -> list[Span]:
        made = [
            Span(r, i, calendar_ns(r.start), calendar_ns(max(r.start, r.end)), self.tid(r.thread))
            for i, r in enumerate(self.session.ranges)
        ]
        for span in made:
            if 0 <= span.range.parent < len(made):
                made[span.range.parent].children.append(span.index)
        # A profile's rows hold ranges that nest. One that ends inside another one (mstx.range_start and range_end may
        # stand anywhere) gets a row of its own.
        open_spans: dict[int, list[int]] = {}
        loose: dict[tuple[int, int], int] = {}  # (thread, how many such rows it has) -> row
        for span in sorted(made, key=lambda s: (s.begin, -s.end, s.index)):
            tid = span.tid
            for extra in range(len(made) + 1):
                row = tid if not extra else loose.setdefault((tid, extra), self.pid + _LOOSE_THREAD + len(loose) + 1)
                stack = open_spans.setdefault(row, [])
                while stack and stack[-1] <= span.begin:
                    stack.pop()
                if not stack or span.end <= stack[-1]:
                    stack.append(span.end)
                    span.tid = row
                    break
        return made

    # ---- the devices

    def _works(self) -> list[Work]:
        issued: dict[int, Call] = {c.task: c for c in self.session.calls if c.task >= 0}
        made, collectives = [], {}
        last: dict[int, int] = {}
        for i, task in enumerate(self.session.tasks):
            call = issued.get(i)
            issue_end = calendar_ns(call.end if call else task.issued)
            issue_begin = calendar_ns(call.start if call else task.issued)
            queue = self.queue_tid if task.queued else self.tid(task.thread)
            # the queue's thread issues one after the other
            issue_begin = min(max(issue_begin, last.get(queue, issue_begin)), issue_end)
            last[queue] = issue_end
            # HCCL's kernel runs from the moment at which this rank is there: waiting for the others is part of it
            begin, end = calendar_ns(task.start - task.waited), calendar_ns(task.end)
            name, op_type, core, kind, name_of_call = self._named(task, collectives)
            work = Work(task, i, name, op_type, core, kind, name_of_call, begin, max(begin, end), issue_begin,
                        issue_end, connection=i + 1, task_id=i % 65536)  # fmt: skip
            made.append(work)
        return made

    def _named(self, task: Task, collectives: dict) -> tuple[str, str, str, str, str]:
        """Name, OP Type, core, task type, and the aclnn function that starts it."""
        if task.kind == "kernel":
            kernel = kernel_names.kernel(task)
            return kernel.name, kernel.type, kernel.core, kernel.core, kernel.call
        if task.kind == "collective":
            op_type = kernel_names.collective(task)
            group = group_number(task.group)
            number = collectives[group] = collectives.get(group, -1) + 1
            name = f"{op_type}_{group % 1000}_{number}_1"
            return name, op_type, "COMMUNICATION" if self.settings.cann == 9 else "HCCL", "COMMUNICATION", op_type
        if task.kind in COPIES:
            return kernel_names.COPIES[task.kind], "N/A", "N/A", kernel_names.COPY_TYPES[task.kind], "aclrtMemcpyAsync"
        name = EVENTS.get(task.kind, task.kind.upper())
        kind = name if self.settings.cann == 9 else f"{name}_SQE"
        return name, "N/A", "N/A", kind, "aclrtRecordEvent" if task.kind == "event_record" else "aclrtStreamWaitEvent"

    def _order_streams(self) -> None:
        """Times to wait, and no overlap on a stream after the times were rounded."""
        last: dict[tuple, int] = {}
        for work in sorted(self.works, key=lambda w: (w.begin, w.end, w.index)):
            row = (work.device, work.communicates, work.stream)
            before = last.get(row)
            if before is not None:
                work.begin = max(work.begin, before)
                work.end = max(work.end, work.begin)
                work.wait = work.begin - before
            last[row] = work.end
        planes: dict[tuple, int] = {}
        for work in self.works:
            if work.communicates:
                work.plane = planes.setdefault((work.device, work.task.group, work.stream), len(planes))

    def rows(self, device: int) -> list[Work]:
        """A device's tasks by their begin."""
        return sorted((w for w in self.works if w.device == device), key=lambda w: (w.begin, w.end, w.index))

    # ---- steps

    def _device_steps(self, device: int) -> list[DeviceStep]:
        steps = sorted(self.session.steps, key=lambda s: s.start)
        if not steps:
            return []
        issued: list[list[Work]] = [[] for _ in steps]  # in each step
        for work in self.works:
            at = self._issued_in(work, steps)
            if work.device == device and work.task.kind not in EVENTS and at is not None:
                issued[at].append(work)
        starts, until = [], 0
        for step, those in zip(steps, issued):
            until = max(until, min((w.begin for w in those), default=calendar_ns(step.start)))
            starts.append(until)
        last = max([calendar_ns(steps[-1].end)] + [w.end for w in issued[-1]])
        ends = starts[1:] + [max(last, starts[-1])]
        return [
            DeviceStep(s.number, b, e, calendar_ns(s.start), calendar_ns(s.end)) for s, b, e in zip(steps, starts, ends)
        ]

    @staticmethod
    def _issued_in(work: Work, steps: list[Step]) -> int | None:
        at = bisect.bisect_right(steps, work.task.issued, key=lambda s: s.start) - 1
        return at if at >= 0 and work.task.issued <= steps[at].end else None

    def _number_steps(self) -> None:
        """A task belongs to the step that issued it, as torch_npu has it: a host that runs ahead is in another step
        when the device comes to it."""
        steps = sorted(self.session.steps, key=lambda s: s.start)
        for work in self.works:
            if (at := self._issued_in(work, steps)) is not None:
                work.step = steps[at].number

    # ---- what the host's ranges started

    def under(self, index: int) -> list[int]:
        """Indices of the works that were issued in a span or in one inside it."""
        found, waiting = [], [index]
        while waiting:
            span = self.spans[waiting.pop()]
            found += span.works
            waiting += span.children
        return sorted(found)

    def subtree_device_ns(self) -> list[tuple[int, int, int, int]]:
        """(self, total, self on AI cores, total on AI cores) in ns of device time, for every span."""
        own, cores = [0] * len(self.spans), [0] * len(self.spans)
        for i, span in enumerate(self.spans):
            for w in (self.works[k] for k in span.works):
                if w.task.kind in EVENTS:
                    continue
                own[i] += w.end - w.begin
                cores[i] += (w.end - w.begin) * (w.core == "AI_CORE")
        total, total_cores = list(own), list(cores)
        for i in range(len(self.spans) - 1, -1, -1):  # a parent stands before its children
            parent = self.spans[i].range.parent
            if 0 <= parent < i:
                total[parent] += total[i]
                total_cores[parent] += total_cores[i]
        return list(zip(own, total, cores, total_cores))


def group_number(group: str) -> int:
    """A communication group's number in names: of its text, the same in every run and on every rank."""
    return zlib.crc32((group or "default").encode())
