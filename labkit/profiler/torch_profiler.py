"""torch.profiler on the simulated device: where its activities name the device, a recording on the virtual clock goes
along. export_chrome_trace writes that one, and key_averages has the modelled device times.

PyTorch's own profiler knows the device only by its name: Kineto has nothing that would collect its work. Host times in
key_averages stay what they are, measured ones of this machine.
"""

from __future__ import annotations

import functools
import os

import torch

_KEY = "_labkit_recording"  # attribute of a torch.profiler.profile


def install() -> None:
    """Once, behind the device's installation."""
    from torch.profiler import profiler

    kind = profiler._KinetoProfile
    if hasattr(kind.start_trace, "__wrapped__"):
        return
    for name, replaced in (("start_trace", _start), ("stop_trace", _stop), ("export_chrome_trace", _export),
                           ("key_averages", _with_kernels), ("events", _with_kernels)):  # fmt: skip
        original = getattr(kind, name)

        def method(self, *args, _original=original, _replaced=replaced, **kwargs):
            return _replaced(_original, self, *args, **kwargs)

        setattr(kind, name, functools.wraps(original)(method))


def _names_device(prof) -> bool:
    return torch.profiler.ProfilerActivity.PrivateUse1 in set(prof.activities or ())


def _start(original, prof) -> None:
    original(prof)
    if not _names_device(prof):
        return
    from labkit.device.library import lib
    from labkit.profiler.recorder import Recorder

    if lib().lab_recorder_on():  # inside of torch_npu.profiler, say
        return
    recorder = Recorder(shapes=True, memory=bool(prof.profile_memory), stack=bool(prof.with_stack))
    recorder.start()
    setattr(prof, _KEY, recorder)


def _stop(original, prof):
    from labkit.profiler.recorder import Recorder

    recorder = getattr(prof, _KEY, None)
    if isinstance(recorder, Recorder):
        from labkit.profiler import output_folder, raw
        from labkit.profiler.settings import Settings

        torch.npu.synchronize()
        settings = Settings(level="Level1", record_shapes=bool(prof.record_shapes), with_stack=bool(prof.with_stack),
                            profile_memory=bool(prof.profile_memory))  # fmt: skip
        setattr(prof, _KEY, raw.Recording(recorder.stop(), settings, os.getpid(), output_folder.rank()))
        prof._labkit_kernels = False
    return original(prof)


def _export(original, prof, path: str, *args, **kwargs):
    recording = getattr(prof, _KEY, None)
    if recording is None:
        return original(prof, path, *args, **kwargs)
    from labkit.profiler import kineto

    kineto.write(recording.layout(), path, getattr(prof, "preset_metadata", None))


def _with_kernels(original, prof, *args, **kwargs):
    recording = getattr(prof, _KEY, None)
    if recording is not None and not getattr(prof, "_labkit_kernels", True):
        prof._labkit_kernels = True
        if prof.profiler.function_events is not None:
            _add_kernels(prof.profiler.function_events, recording.layout())
    return original(prof, *args, **kwargs)


def _add_kernels(events, layout) -> None:
    """Gives each operator's event the modelled kernels that it issued, the n-th call of a name those of the n-th, and
    the list an event for each kernel, as Kineto does for a device that it knows.
    """
    from torch.autograd import DeviceType
    from torch.autograd.profiler_util import FunctionEvent

    from labkit.profiler import kineto

    by_name: dict[str, list] = {}
    for event in events:
        outer = event.cpu_parent
        while outer is not None and outer.name != event.name:
            outer = outer.cpu_parent
        if outer is None:
            by_name.setdefault(event.name, []).append(event)
    for name, calls in kineto.kernels_by_range(layout).items():
        known = sorted(by_name.get(name, ()), key=lambda e: e.time_range.start)
        for event, works in zip(known, calls) if len(known) == len(calls) else ():  # else one saw more than the other
            for work in works:
                event.append_kernel(work.name, work.device, (work.end - work.begin) / 1000)
    for event in events:
        event.use_device = "npu"
    for work in layout.works:
        if work.task.kind in kineto.EVENTS:
            continue
        begin, end = ((t - layout.begin) / 1000 for t in (work.begin, work.end))
        events.append(FunctionEvent(id=len(events), name=work.name, thread=work.stream, start_us=begin, end_us=end,
                                    device_type=DeviceType.PrivateUse1, device_index=work.device,
                                    device_resource_id=work.stream, use_device="npu", stack=[]))  # fmt: skip
    events._use_device = "npu"
