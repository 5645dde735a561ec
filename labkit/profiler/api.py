"""torch_npu.profiler.profile, _KinetoProfile, tensorboard_trace_handler and analyse, on the simulated device."""

from __future__ import annotations

import os
from collections.abc import Callable

import torch
from torch.autograd.profiler import record_function

from labkit.device.streams import mstx
from labkit.profiler import raw
from labkit.profiler.recording import (
    ProfInterface,
    checked_metadata,
    delete,
    no_exception,
    place,
    recordings,
    write_tables,
)
from labkit.profiler.schedule import ProfilerAction, always
from labkit.profiler.settings import ExportType, supported_activities, warn

METRICS = ("self_cpu_time_total", "self_npu_time_total")


class _KinetoProfile:
    """One recording from start() to stop(), for exports; its folder goes with it."""

    def __init__(self, *, activities=None, record_shapes=False, profile_memory=False, with_stack=False,
                 with_flops=False, with_modules=False, experimental_config=None,
                 custom_trace_id_callback=None):  # fmt: skip
        self._interface(activities, None, record_shapes, profile_memory, with_stack, with_flops, with_modules,
                        experimental_config, custom_trace_id_callback)  # fmt: skip

    def _interface(self, activities, schedule, record_shapes, profile_memory, with_stack, with_flops, with_modules,
                   experimental_config, custom_trace_id_callback) -> None:  # fmt: skip
        self.metadata: dict = {}
        self._for_exports: list = []
        self.prof_if = ProfInterface(
            activities=activities,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            schedule=schedule,
            metadata=self.metadata,
            experimental_config=experimental_config,
            custom_trace_id_callback=custom_trace_id_callback,
        )

    @no_exception()
    def __del__(self):
        for folder in getattr(self, "_for_exports", []):
            delete(folder)

    @no_exception()
    def start(self):
        place.set(temporary=True)
        self.prof_if.init_trace()
        self._note_folder()
        self.prof_if.start_trace()

    @no_exception()
    def stop(self):
        self.prof_if.stop_trace()
        self.prof_if.finalize_trace()

    def _note_folder(self) -> None:
        if place.temporary and self.prof_if.folder not in (None, *self._for_exports):
            self._for_exports.append(self.prof_if.folder)

    @no_exception()
    def export_chrome_trace(self, output_path: str):
        """Writes trace_view.json's content to a file whose name ends with .json."""
        if not str(output_path).endswith(".json"):
            raise RuntimeError(f"Invalid file path: {output_path}. Only supports .json files.")
        if not self._has_path():
            return
        self.prof_if.export("chrome_trace", output_path)

    def _has_path(self) -> bool:
        if not self.prof_if.prof_path:
            warn("Invalid profiling path.")
        return bool(self.prof_if.prof_path)

    @no_exception()
    def add_metadata(self, key: str, value: str):
        checked_metadata(self.metadata, key, value, as_json=False)

    @no_exception()
    def add_metadata_json(self, key: str, value: str):
        checked_metadata(self.metadata, key, value, as_json=True)

    @no_exception()
    def export_stacks(self, output_path: str, metric: str = METRICS[0]):
        if not self.prof_if.with_stack:
            return warn("Function export_stacks() requires with_stack=True.")
        if metric not in METRICS:
            warn("Metric should be self_cpu_time_total or self_npu_time_total."
                 "Here it is presumed to be self_cpu_time_total.")  # fmt: skip
            metric = METRICS[0]
        if self._has_path():
            self.prof_if.export("stacks", output_path, metric=metric)

    @no_exception()
    def export_memory_timeline(self, output_path: str, device: str | None = None) -> None:
        asked = self.prof_if
        missing = [f"{name}=True" for name in ("record_shapes", "profile_memory") if not getattr(asked, name)]
        if not (asked.with_stack or asked.with_modules):
            missing.append("with_stack=True or with_modules=True")
        if missing:
            return warn(f"{', '.join(missing)} required for memory profiling.")
        if self._has_path():
            asked.export("memory_timeline", output_path, device=device or "npu:0")


@no_exception()
def tensorboard_trace_handler(dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True,
                              async_mode: bool = False):  # fmt: skip
    """What to do with a recording that is ready: its tables go into `dir_name`."""
    place.set(worker=worker_name, parent=dir_name)
    if not isinstance(analyse_flag, bool):
        warn("analyse_flag is not bool, set by default.")
        analyse_flag = True
    if not isinstance(async_mode, bool):
        warn("async_mode is not bool, set by default.")
        async_mode = False

    def handler(prof) -> None:
        if analyse_flag:
            prof.prof_if.analyse(async_mode=async_mode)

    return handler


class profile(_KinetoProfile):
    """torch_npu.profiler.profile: recordings by a schedule."""

    def __init__(self, *, activities=None, schedule: Callable[[int], ProfilerAction] | None = None,
                 on_trace_ready=None, record_shapes=False, profile_memory=False, with_stack=False, with_flops=False,
                 with_modules=False, experimental_config=None, execution_trace_observer=None,
                 custom_trace_id_callback=None, use_cuda=None):  # fmt: skip
        self.record_steps = callable(schedule)
        if schedule and not self.record_steps:
            warn("schedule is not Callable, set by default.")
        self.schedule = schedule if self.record_steps else always
        if on_trace_ready and not callable(on_trace_ready):
            warn("on_trace_ready is not Callable, set by default.")
            on_trace_ready = None
        self._interface(set(activities) if activities else supported_activities(), self.schedule, record_shapes,
                        profile_memory, with_stack, with_flops, with_modules, experimental_config,
                        custom_trace_id_callback)  # fmt: skip
        self.execution_trace_observer = execution_trace_observer
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(self.step_num)
        self._step_num_offset = 0
        self._is_dynamic_prof = False
        self.step_rec_fn: record_function | None = None
        self._step_range = 0
        self.stopped = True
        if use_cuda is not None:
            warn("This is npu environment, use_cuda is invalid")

    @no_exception()
    def __enter__(self):
        self.start()
        return self

    @no_exception()
    def __exit__(self, *_):
        self.stop()

    @no_exception()
    def __del__(self):
        if not getattr(self, "stopped", True):
            self.stop()
        super().__del__()

    @no_exception()
    def _set_step_num_offset_for_dynamic_prof(self, step: int):
        self._step_num_offset, self._is_dynamic_prof = step, True

    @no_exception()
    def start(self):
        self.stopped = False
        if not self.on_trace_ready:
            place.set(temporary=True)
        self._go(ProfilerAction.NONE, self.current_action)
        self._open_step()
        if self.execution_trace_observer:
            self.execution_trace_observer.start()

    @no_exception()
    def stop(self):
        if self.stopped:
            return
        self._close_step()
        self._go(self.current_action, None)
        self.stopped = True
        if self.execution_trace_observer:
            self.execution_trace_observer.stop()

    @no_exception()
    def step(self):
        if self.stopped:
            return warn("Profiler is stopped, step takes no effect!")
        self._close_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._go(before, self.current_action)
        self._open_step()

    def _open_step(self) -> None:
        if not self.record_steps:
            return
        name = f"ProfilerStep#{self.step_num + self._step_num_offset}"
        self.step_rec_fn = record_function(name)
        self.step_rec_fn.__enter__()
        if not self._is_dynamic_prof and self.prof_if.experimental_config.tx_enabled:
            self._step_range = mstx.range_start(name, torch.npu.current_stream())

    def _close_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None
        if self._step_range:
            mstx.range_end(self._step_range)
            self._step_range = 0

    def _go(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """What torch_npu does between two steps of these kinds (its _profiler_action_controller)."""
        none, warmup, record, save = ProfilerAction
        asked = self.prof_if

        def begin(action: ProfilerAction) -> None:
            asked.init_trace()
            self._note_folder()
            (asked.warmup_trace if action is warmup else asked.start_trace)()

        if before is none:
            if after in (warmup, record, save):
                begin(after)
        elif before is warmup:
            if after in (record, save):
                asked.start_trace()
            elif after is none:
                warn("Incorrect schedule: WARMUP followed by NONE")
                asked.start_trace()
                self._end()
            elif after is None:
                warn("Incorrect schedule: Stop profiler while current state is WARMUP "
                     "which will result in empty parsed data.")  # fmt: skip
                asked.delete_prof_dir()
        elif before is record:
            if after in (none, warmup):
                warn(f"Incorrect schedule: RECORD followed by {after.name}")
                self._end()
            elif after is None:
                warn("Incorrect schedule: Stop profiler while current state is RECORD "
                     "which may result in incomplete parsed data.")  # fmt: skip
                self._end(ready=True)
        else:
            if after is None:
                warn("Stop profiler while current state is RECORD_AND_SAVE, "
                     "perhaps the scheduling cycle has not yet completed.")  # fmt: skip
            self._end(ready=True)
            if after in (warmup, record, save):
                begin(after)

    def _end(self, ready: bool = False) -> None:
        self.prof_if.stop_trace()
        self.prof_if.finalize_trace()
        if ready and self.on_trace_ready:
            self.on_trace_ready(self)

    @no_exception()
    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        self.prof_if.custom_trace_id_callback = callback

    @no_exception()
    def get_trace_id(self) -> str:
        return self.prof_if.trace_id

    @classmethod
    @no_exception()
    def enable_profiler_in_child_thread(cls, record_shapes: bool = False, profile_memory: bool = False,
                                        with_stack: bool = False, with_flops: bool = False,
                                        with_modules: bool = False):  # fmt: skip
        """The simulated device records every thread of the process: nothing is left to do."""
        for name, value in list(locals().items()):
            if name not in ("cls",) and not isinstance(value, bool):
                warn(f"{name} in enable_profiler_in_child_thread is not bool, reset it to False.")

    @classmethod
    @no_exception()
    def disable_profiler_in_child_thread(cls):
        torch.npu.synchronize()


@no_exception()
def analyse(profiler_path: str, max_process_number: int = max(1, (os.cpu_count() or 2) // 2),
            export_type: str | list | None = None):  # fmt: skip
    """Makes the tables of recordings whose handler had analyse_flag=False. profiler_path: one, or a folder of them."""
    if not isinstance(max_process_number, int) or max_process_number <= 0:
        warn("Invalid max_process_number, reset it to default!")
    elif max_process_number > (os.cpu_count() or 1):
        warn("max_process_number exceeds the number of cpu cores, reset it to the number of cpu cores!")
    if isinstance(export_type, str):
        export_type = [export_type]
    if export_type is not None:
        known = (ExportType.Text, ExportType.Db)
        if not isinstance(export_type, list) or not export_type or any(t not in known for t in export_type):
            warn(f"Invalid parameter export_type: {export_type}, reset it to None.")
            export_type = None
    for folder in recordings(profiler_path):
        write_tables(raw.load(folder), folder, export_type)
