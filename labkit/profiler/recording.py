"""From profile's start() to the folder on disk: where the folder is, the recorder in between, and what the writers are
handed. torch_npu calls these two parts ProfPathCreator and _ProfInterface.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import socket
import threading
import time
import uuid
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import torch

from labkit.device.library import lib
from labkit.device.streams import marks as mstx_marks
from labkit.profiler import exports, output_folder, raw
from labkit.profiler.events import Session
from labkit.profiler.layout import calendar_ns
from labkit.profiler.recorder import Recorder
from labkit.profiler.settings import (
    ExportType,
    ProfilerActivity,
    Settings,
    _ExperimentalConfig,
    error,
    info,
    supported_activities,
    warn,
)

_LONGEST_WORKER_NAME, _LONGEST_TRACE_ID = 226, 1024


def no_exception(default=None):
    """A profiler never ends the program that it records: what goes wrong is printed."""

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            try:
                return function(*args, **kwargs)
            except Exception as problem:
                error(f"Call {function.__name__} failed. Exception: {problem}")
                return default

        return wrapper

    return decorate


# ---- where


class Place:
    """The folder of the next recording: {dir_name}/{worker}_{pid}_{time}_ascend_pt. One for the process, as in
    torch_npu: the handler or start() that was made last says where."""

    def __init__(self):
        self.parent: str | None = None
        self.worker: str | None = None
        self.temporary = False  # no handler: deleted with the profiler, after its exports

    def set(self, worker: str | None = None, parent: str | None = None, temporary: bool = False) -> None:
        self.temporary = temporary
        good = worker is None or (isinstance(worker, str) and 0 < len(worker) < _LONGEST_WORKER_NAME)
        if not good:
            warn("Invalid parameter worker_name, reset it to default.")
        self.worker = worker if good else None
        good = parent is None or (isinstance(parent, str) and parent)
        if not good:
            warn("Invalid parameter dir_name, reset it to default.")
        self.parent = os.path.realpath(os.path.expanduser(parent)) if good and parent else None

    def make(self) -> Path:
        parent = self.parent
        if not parent:
            work = os.environ.get("ASCEND_WORK_PATH")
            if work:
                self.temporary = False
                parent = os.path.join(os.path.abspath(work), "profiling_data")
            else:
                parent = os.path.join(os.getcwd(), "export_only_prof_dir") if self.temporary else os.getcwd()
        stamp = datetime.now().strftime("%Y%m%d%H%M%S%f")[:-3]
        folder = Path(parent) / f"{self.worker or socket.gethostname()}_{os.getpid()}_{stamp}_ascend_pt"
        while folder.exists():  # two within a millisecond
            time.sleep(0.001)
            return self.make()
        folder.mkdir(parents=True, mode=0o750)
        return folder


place = Place()


def delete(folder: Path | None) -> None:
    """Removes a recording that was for exports only, and the folder of such ones when it is empty."""
    if folder is None:
        return
    shutil.rmtree(folder, ignore_errors=True)
    if folder.parent.name == "export_only_prof_dir":
        try:
            folder.parent.rmdir()
        except OSError:
            pass


# ---- what


class MstxWatch:
    """Collects the marks and ranges of mstx while a recording runs."""

    def __init__(self, config: _ExperimentalConfig):
        self.include, self.exclude = config._mstx_domain_include, config._mstx_domain_exclude
        self.found: list[raw.Mark] = []
        self.open: dict[int, raw.Mark] = {}
        self.threads = {threading.get_ident(): 0}

    def wants(self, domain: str) -> bool:
        return domain in self.include if self.include else domain not in self.exclude

    def __call__(self, what: str, message: str, domain: str, number: int) -> None:
        now = calendar_ns(lib().lab_host_ns())
        if what == "end":
            mark = self.open.pop(number, None)
            if mark is not None:
                mark.end = now
            return
        if self.wants(domain):
            thread = self.threads.setdefault(threading.get_ident(), len(self.threads))
            mark = raw.Mark(message, "marker" if what == "mark" else "start/end", domain, thread, now, now)
            self.found.append(mark)
            if what == "start":
                self.open[number] = mark

    def close(self) -> list[raw.Mark]:
        now = calendar_ns(lib().lab_host_ns())
        for mark in self.open.values():
            mark.end = now
        return self.found


class ProfInterface:
    """One profiler's recordings, one after the other."""

    def __init__(self, activities=None, record_shapes=False, profile_memory=False, with_stack=False, with_flops=False,
                 with_modules=False, schedule=None, metadata=None, experimental_config=None,
                 custom_trace_id_callback=None):  # fmt: skip
        self.activities = set(activities) if activities else supported_activities()
        self.record_shapes, self.profile_memory = record_shapes, profile_memory
        self.with_stack, self.with_flops, self.with_modules = with_stack, with_flops, with_modules
        self.schedule, self.metadata = schedule, {} if metadata is None else metadata
        self.experimental_config = _ExperimentalConfig() if experimental_config is None else experimental_config
        self.custom_trace_id_callback: Callable[[], str] | None = custom_trace_id_callback
        self.prof_path, self.trace_id = "", ""
        self.folder: Path | None = None
        self.recording: raw.Recording | None = None
        self._recorder: Recorder | None = None
        self._marks: MstxWatch | None = None
        self._check()

    def _check(self) -> None:
        if any(a not in supported_activities() for a in self.activities):
            warn("Invalid activities, only CPU and NPU are supported, reset it to default.")
            self.activities = supported_activities()
        for name in ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules"):
            if not isinstance(getattr(self, name), bool):
                warn(f"Parameter {name} is of boolean type, reset it to False.")
                setattr(self, name, False)
        if not isinstance(self.experimental_config, _ExperimentalConfig):
            warn("Parameter experimental_config is an instance of _ExperimentalConfig, reset it to default.")
            self.experimental_config = _ExperimentalConfig()
        if ProfilerActivity.NPU not in self.activities:
            warn("Experimental config will not be used while ProfilerActivity.NPU is not set.")
        if ProfilerActivity.CPU not in self.activities and self.experimental_config.with_gc:
            warn("GC detect will not take effect while ProfilerActivity.CPU is not set.")

    def settings(self) -> Settings:
        config = self.experimental_config
        return Settings(
            cpu=ProfilerActivity.CPU in self.activities,
            npu=ProfilerActivity.NPU in self.activities,
            record_shapes=self.record_shapes,
            profile_memory=self.profile_memory,
            with_stack=self.with_stack,
            with_flops=self.with_flops,
            with_modules=self.with_modules,
            level=config._profiler_level,
            aic_metrics=config._aic_metrics,
            l2_cache=config._l2_cache,
            mstx=config.tx_enabled,
            export_type=list(config.export_type),
            schedule=dict(vars(self.schedule)) if hasattr(self.schedule, "active") else None,
            experimental=dict(vars(config)),
        )

    # ---- the actions of a schedule

    def init_trace(self) -> None:
        self.folder = place.make()
        self.prof_path = str(self.folder)
        self.trace_id = self._new_trace_id()

    def warmup_trace(self) -> None:
        """On hardware the collectors are started here; a recorder without cost needs no warm-up."""

    def start_trace(self) -> None:
        recorder = Recorder(shapes=self.record_shapes or self.settings().detailed, memory=self.profile_memory,
                                  stack=self.with_stack, modules=self.with_modules)  # fmt: skip
        recorder.start()  # raises where another one runs: then nobody is to collect marks
        self._recorder = recorder
        if self.experimental_config.tx_enabled:
            self._marks = MstxWatch(self.experimental_config)
            mstx_marks.watchers.append(self._marks)

    def stop_trace(self) -> None:
        if self._recorder is None:
            return
        if ProfilerActivity.NPU in self.activities:
            torch.npu.synchronize()
        recorder, self._recorder = self._recorder, None
        session = recorder.stop()
        _count_ranks(session)
        marks = []
        if self._marks is not None:
            mstx_marks.watchers.remove(self._marks)
            marks, self._marks = self._marks.close(), None
        self.recording = raw.Recording(session, self.settings(), os.getpid(), output_folder.rank(), marks)

    def finalize_trace(self) -> None:
        if self.recording is None or self.folder is None:
            return
        raw.save(self.recording, self.folder)
        self.metadata["trace_id"] = self.trace_id
        groups = _parallel_groups()
        if groups:
            self.metadata["parallel_group_info"] = groups
        rank = self.recording.rank
        output_folder.write_info(self.folder, self.recording.session, self.recording.settings, self.metadata, rank)
        self.metadata.clear()

    def delete_prof_dir(self) -> None:
        delete(self.folder)

    def analyse(self, async_mode: bool = False) -> None:
        """The tables of the newest recording."""
        if self.recording is None or self.folder is None:
            return
        write_tables(self.recording, self.folder, None, async_mode)

    def export(self, kind: str, path: str, **how) -> None:
        """A single file of the newest recording: "chrome_trace", "stacks" or "memory_timeline"."""
        if self.recording is None:
            return
        if ExportType.Text not in self.experimental_config.export_type and kind != "memory_timeline":
            warn("The setting of type in experimental_config as db will be ignored while set export_chrome_trace "
                 "or export_stacks")  # fmt: skip
        info(f"Start parsing profiling data in sync mode at: {self.prof_path}")
        begin = datetime.now()
        getattr(exports, kind)(self.recording, Path(path), **how)
        info(f"All profiling data parsed in a total time of {datetime.now() - begin}")

    def _new_trace_id(self) -> str:
        callback = self.custom_trace_id_callback
        made = f"{uuid.uuid4().int:032X}"
        if not callback:
            return made
        if not callable(callback):
            warn("Parameter custom_trace_id_callback is not callable, reset it to default.")
            return made
        try:
            given = callback()
        except Exception as problem:
            warn(f"Parameter custom_trace_id_callback raised an exception: {problem}, reset it to default.")
            return made
        if isinstance(given, str) and len(given) <= _LONGEST_TRACE_ID:
            return given
        warn(f"Parameter custom_trace_id_callback should return str(max length: {_LONGEST_TRACE_ID}), "
             "reset it to default.")  # fmt: skip
        return made


def _count_ranks(session: Session) -> None:
    """Collectives of which the recorder does not know the group are the default one's."""
    import torch.distributed as dist

    if dist.is_available() and dist.is_initialized():
        for task in session.tasks:
            if task.kind == "collective":
                task.ranks = task.ranks or dist.get_world_size()


def _parallel_groups() -> dict:
    """The process groups as profiler_metadata.json has them."""
    import torch.distributed as dist

    if not (dist.is_available() and dist.is_initialized()):
        return {}
    from torch.distributed.distributed_c10d import _world

    from labkit.profiler.layout import group_number

    made = {}
    for group in _world.pg_map:
        name = getattr(group, "group_name", "")
        default = group is _world.default_pg
        made[str(group_number("" if default else name))] = {
            "group_name": "default_group" if default else name,
            "group_rank": dist.get_group_rank(group, dist.get_rank()),
            "global_ranks": dist.get_process_group_ranks(group),
        }
    return made


# ---- from a recording to its tables

_analyses: list[threading.Thread] = []


def write_tables(recording: raw.Recording, folder: Path, export: list[str] | None, async_mode: bool = False) -> None:
    """Writes ASCEND_PROFILER_OUTPUT; async_mode: on a thread, which the end of the program waits for."""

    def work() -> None:
        info(f"Start parsing profiling data in {'async' if async_mode else 'sync'} mode at: {folder}")
        begin = datetime.now()
        try:
            output_folder.write_tables(recording.layout(), folder, export, recording.marks)
        except Exception as problem:
            warn(f"Profiling data parsing failed, error: {problem}")
            return
        info(f"All profiling data parsed in a total time of {datetime.now() - begin}")

    if async_mode:
        _analyses.append(threading.Thread(target=work, name="profiler analysis"))
        _analyses[-1].start()
    else:
        work()


def recordings(path: str) -> list[Path]:
    """The folders of recordings at `path`: itself, or those in it."""
    folder = Path(path)
    if not folder.exists():
        raise RuntimeError(f"The path does not exist: {folder}")
    if not folder.is_dir():
        raise RuntimeError(f"The path is no folder: {folder}")
    return [folder] if raw.exists(folder) else sorted(f for f in folder.iterdir() if raw.exists(f))


def checked_metadata(metadata: dict, key: str, value: str, as_json: bool) -> None:
    """add_metadata and add_metadata_json: warns, and adds nothing, where torch_npu would not."""
    if not isinstance(key, str) or not isinstance(value, str):
        return warn("The key and value of metadata must be string. Skip this metadata.")
    if len(key) > 4096 or len(value) > 4096:
        return warn("Invalid input key or value. Skip this metadata.")
    if sum(len(str(k)) + len(str(v)) for k, v in metadata.items()) + len(key) + len(value) >= 50 * 1024:
        return warn("Too many metadata added. Skip this metadata")
    if key in metadata:
        warn(f"{key} is already saved as metadata, override it.")
    try:
        metadata[key] = json.loads(value) if as_json else value
    except ValueError:
        warn("The metadata value must be json format string. Skip this metadata")
