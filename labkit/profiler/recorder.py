"""Records a program on the simulated device: csrc/recorder.cpp collects, and stop() gives it as a Session.

    recorder = Recorder(shapes=True)
    recorder.start()
    ...                                   # the program, on this and other threads
    session = recorder.stop()

One recording at a time for each process: a second start() raises RuntimeError. Recording costs no virtual time.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from ctypes import c_double, c_uint64

import numpy as np
import torch

from labkit.device import ENGINES, rates
from labkit.device.library import lib
from labkit.launch import record as launches
from labkit.profiler.counters import AIC, counters
from labkit.profiler.events import Allocation, Call, HostRange, Session, Step, Task, TensorFacts

# ---- the structures of csrc/recorder.h

_RANGE = np.dtype(
    [(n, "u4") for n in ("name", "kind", "thread", "forward_thread", "inputs", "stack")]
    + [("parent", "i8"), ("sequence", "i8"), ("start", "f8"), ("end", "f8")]
)
_TASK = np.dtype(
    [(n, "u4") for n in ("name", "kind", "engine", "thread", "inputs", "outputs", "queued", "blocks")]
    + [("device", "i4"), ("stream", "i4"), ("range", "i8")]
    + [(n, "f8") for n in ("issued", "reached", "start", "end", "bytes", "flops")]
)
_CALL = np.dtype(
    [("api", "u4"), ("thread", "u4"), ("device", "i4"), ("stream", "i4"), ("range", "i8"), ("task", "i8")]
    + [(n, "f8") for n in ("start", "end", "waited")]
)
_MEMORY = np.dtype(
    [(n, "u8") for n in ("address", "bytes", "allocated", "reserved")]
    + [("device", "i4"), ("stream", "i4"), ("range", "i8"), ("time", "f8"), ("freed", "u4"), ("unused", "u4")]
)
_KINDS = ("op", "backward", "user", "module", "mark")  # RangeKind
_APIS = (  # Api of clock.h, by ACL's names; a launch's depends on what it launches
    "launch",
    "aclrtSynchronizeDevice",
    "aclrtSynchronizeStream",
    "aclrtSynchronizeEvent",
    "aclrtRecordEvent",
    "aclrtStreamWaitEvent",
    "aclrtStreamQuery",
    "aclrtQueryEventStatus",
)
_STEP = re.compile(r"ProfilerStep#(\d+)")
SHAPES, MEMORY, STACK = 1, 2, 4


class Recorder:
    """shapes: the arguments of each operator; memory: blocks of device memory; stack: Python's frames at each
    operator; modules: a range for each call of an nn.Module, named by its class and a number, or by the function of a
    module that is given (None: no range)."""

    def __init__(
        self,
        shapes: bool = False,
        memory: bool = False,
        stack: bool = False,
        modules: bool | Callable[[torch.nn.Module], str | None] = False,
    ):
        self.wishes = SHAPES * shapes | MEMORY * memory | STACK * stack
        self.modules = modules
        self._hooks: list = []
        self._counters: dict[int, dict] = {}  # of kernels of ours, by the number of their task

    def start(self) -> None:
        if lib().lab_recorder_on():
            raise RuntimeError("a recording is going on in this process: stop it before another one starts")
        if self.modules:
            self._hooks = _module_ranges(self.modules if callable(self.modules) else _numbered())
        self._counters = {}
        launches.watchers.append(self._launched)
        lib().lab_recorder_start(self.wishes)

    def stop(self) -> Session:
        """What was recorded since start(). Raises RuntimeError without one."""
        if self._launched not in launches.watchers:
            raise RuntimeError("no recording is going on: start() comes first")
        lib().lab_recorder_stop()
        launches.watchers.remove(self._launched)
        for hook in self._hooks:
            hook.remove()
        return _session(self._counters)

    def _launched(self, record) -> None:
        """A kernel of ours ran; its task is the newest."""
        newest = _numbers()[0][1] - 1
        if newest >= 0 and record.finished:
            self._counters[newest] = {"blocks": record.blocks, "pmu": counters(record), "engine": _cores_of(record)}


def _numbered() -> Callable[[torch.nn.Module], str]:
    """Names as torch.profiler gives them: nn.Module: Linear_0."""
    numbers: dict[str, dict[int, int]] = {}

    def name(module: torch.nn.Module) -> str:
        kind = type(module).__name__
        return f"nn.Module: {kind}_{numbers.setdefault(kind, {}).setdefault(id(module), len(numbers[kind]))}"

    return name


def _module_ranges(name_of: Callable[[torch.nn.Module], str | None]) -> list:
    """Hooks that open and close a range around each module's forward."""

    def enter(module, _inputs):
        if (name := name_of(module)) is not None:
            lib().lab_recorder_push(name.encode(), _KINDS.index("module"))

    def leave(module, _inputs, _output):
        if name_of(module) is not None:
            lib().lab_recorder_pop()

    hooks = torch.nn.modules.module
    return [hooks.register_module_forward_pre_hook(enter), hooks.register_module_forward_hook(leave, always_call=True)]


# ---- from the structures to a Session


def _numbers() -> tuple[list[int], list[float]]:
    counts, times = (c_uint64 * 8)(), (c_double * 2)()
    lib().lab_recorder_numbers(counts, times)
    return list(counts), list(times)


def _table(pointer: int, dtype: np.dtype, count: int) -> list[tuple]:
    if not count:
        return []
    raw = ctypes.string_at(pointer, count * dtype.itemsize)
    return np.frombuffer(raw, dtype).tolist()


def _session(own: dict[int, dict]) -> Session:
    (n_ranges, n_tasks, n_calls, n_memory, n_texts, n_stacks, lost, threads), (begin, end) = _numbers()
    library = lib()
    texts = [library.lab_recorder_text(i).decode() for i in range(n_texts)]
    stacks = [tuple(library.lab_recorder_stack(i).decode().splitlines()) for i in range(n_stacks)]
    session = Session(begin=begin, end=end, chip=rates.chip(), threads=threads, lost=lost)
    ranges = _table(library.lab_recorder_ranges(), _RANGE, n_ranges)
    arguments = {i: _arguments(texts[i]) for i in {row[4] for row in ranges}}
    for name, kind, thread, forward, inputs, stack, parent, sequence, start, stop in ranges:
        step = _STEP.fullmatch(texts[name]) if _KINDS[kind] == "user" else None
        session.ranges.append(
            HostRange(
                name=texts[name],
                kind="step" if step else _KINDS[kind],
                thread=thread,
                start=start,
                end=stop,
                parent=parent,
                sequence=sequence,
                forward_thread=forward,
                inputs=arguments[inputs] if inputs else None,
                stack=stacks[stack] if stack else (),
            )
        )
        if step:
            session.steps.append(Step(int(step[1]), start, stop))
    for i, row in enumerate(_table(library.lab_recorder_tasks(), _TASK, n_tasks)):
        session.tasks.append(_task(row, texts, own.get(i)))
    for api, thread, device, stream, within, task, start, stop, waited in _table(
        library.lab_recorder_calls(), _CALL, n_calls
    ):
        name = _launch_name(session.tasks[task]) if task >= 0 else _APIS[api]
        session.calls.append(Call(name, thread, start, stop, waited, device, stream, within, task))
    session.allocations = _allocations(_table(library.lab_recorder_memory(), _MEMORY, n_memory))
    library.lab_recorder_forget()
    return session


def _task(row: tuple, texts: list[str], own: dict | None) -> Task:
    name, kind, engine, thread, inputs, outputs, queued, blocks, device, stream, within = row[:11]
    issued, reached, start, end, size, flops = row[11:]
    where = ENGINES[engine].replace(" ", "_") if engine < len(ENGINES) else ""
    task = Task(
        name=texts[name],
        kind=("kernel", "event_record", "event_wait")[kind],
        engine=where,
        device=device,
        stream=stream,
        issued=issued,
        start=start,
        end=end,
        bytes=size,
        flops=flops,
        queued=bool(queued),
        range=within,
        thread=thread,
        blocks=blocks,
        inputs=_tensors(texts[inputs]),
        outputs=_tensors(texts[outputs]),
    )
    if where in ("copy_in", "copy_out"):
        task.kind = where
    elif task.name == "MEMCPY_D2D":
        task.kind = "copy"
    elif where == "link":
        task.kind, task.waited = "collective", start - reached
    if own is not None:
        task.ours, task.blocks, task.pmu, task.engine = True, own["blocks"], own["pmu"], own["engine"]
    return task


def _cores_of(record) -> str:
    """The clock takes every kernel of ours for one of both kinds of cores; the launch knows better."""
    kinds = {core["core"] == AIC for core in record.cores}
    return "cores" if len(kinds) != 1 else "cube" if True in kinds else "vector"


def _launch_name(task: Task) -> str:
    if task.kind.startswith("copy"):
        return "aclrtMemcpyAsync"
    return "HcclLaunch" if task.kind == "collective" else "aclrtLaunchKernel"


def _allocations(changes: list[tuple]) -> list[Allocation]:
    made: list[Allocation] = []
    live: dict[int, Allocation] = {}
    for address, size, allocated, reserved, device, stream, within, time, freed, _ in changes:
        if freed:
            if (gone := live.pop(address, None)) is not None:  # else it is older than the recording
                gone.freed, gone.allocated_then, gone.reserved_then = time, allocated, reserved
            continue
        live[address] = Allocation(address, size, device, stream, time, allocated, reserved, within)
        made.append(live[address])
    return made


# ---- the descriptions of recorder.h


def _tensor(text: str) -> TensorFacts:
    shape, dtype, *layout = text.split(":")
    return TensorFacts(tuple(map(int, filter(None, shape.split(",")))), dtype, layout[0] if layout else "ND")


def _tensors(text: str) -> list[TensorFacts]:
    return [_tensor(part) for part in text.split(";") if ":" in part]


def _arguments(text: str) -> list:
    def one(part: str):
        if part.startswith("["):
            return [one(inner) for inner in part[1:-1].split("&") if inner]
        return _tensor(part) if ":" in part else part

    return [one(part) for part in text.split(";")] if text else []
