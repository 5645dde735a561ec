"""torch_npu.profiler on the simulated device: records what a program does and writes what a node would write.

A program uses it by torch_npu.profiler or torch.profiler. Of its own it has:

    show(path)                  a trace in the notebook, without a network
    viewer_json(source, path)   a trace for Perfetto
    write(session, folder)      the tables and the trace of a Session that was made otherwise

With an NPU torch_npu's own profiler runs, and only show() and viewer_json() are of use.
"""

from __future__ import annotations

import importlib

_NAMES = {
    "show": "viewer",
    "viewer_json": "viewer",
    "write": "output_folder",
    "Recorder": "recorder",
    "Session": "events",
    "Settings": "settings",
}
__all__ = sorted(_NAMES)


def __getattr__(name: str):
    if name not in _NAMES:
        raise AttributeError(f"labkit.profiler has no {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(f"labkit.profiler.{_NAMES[name]}"), name)


def __dir__() -> list[str]:  # what Tab and help() offer
    return sorted({*globals(), *_NAMES})
