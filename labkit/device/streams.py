"""Streams and events of torch.npu, on the virtual clock."""

from __future__ import annotations

import torch

from labkit.device.devices import index
from labkit.device.library import lib

_DEVICE_TYPE = 20  # c10::DeviceType::PrivateUse1


class Stream(torch.Stream):
    """A queue of device work; work of different streams may overlap. Stream(device=None, priority=0)."""

    def __new__(cls, device=None, priority=0, **kwargs):
        if "stream_id" in kwargs:  # an existing one, by its numbers
            return super().__new__(
                cls,
                stream_id=kwargs["stream_id"],
                device_index=kwargs["device_index"],
                device_type=kwargs["device_type"],
            )
        return super().__new__(cls, torch.device("npu", index(device)), priority=priority)

    def record_event(self, event: "Event | None" = None) -> "Event":
        """Records `event` (a new one by default) behind the work issued so far, and returns it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event) -> None:
        """Work issued from now on starts after `event`."""
        event.wait(self)

    def wait_stream(self, stream) -> None:
        """Work issued from now on starts after what `stream` has so far."""
        self.wait_event(stream.record_event())

    @property
    def npu_stream(self) -> int:
        """The stream as a number, as C++ sees it. Asking for it empties the host's queue
        of operators in front of it.
        """
        handle = (self.device_index << 32) | (self.stream_id + 1)
        lib().lab_drain(handle)
        return handle

    _as_parameter_ = npu_stream  # for ctypes

    def set_data_preprocess_stream(self, is_data_preprocess_stream: bool = False) -> None:
        """On hardware: the stream has a host queue of its own. Taken, without effect."""

    def __repr__(self) -> str:
        handle = (self.device_index << 32) | (self.stream_id + 1)
        return f"<torch_npu.npu.Stream device={self.device} npu_stream={handle:#x}>"


SyncLaunchStream = Stream  # on hardware: one without the host's queue


def ExternalStream(stream_ptr: int, device=None, **_) -> Stream:
    """The stream that a handle (Stream.npu_stream, or one of C++) stands for."""
    return _existing((int(stream_ptr) & 0xFFFFFFFF) - 1, int(stream_ptr) >> 32)


class Event(torch.Event):
    """A point in a stream. Event(enable_timing=False, blocking=False, interprocess=False)."""

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False):
        made = super().__new__(
            cls, torch.device("npu"), enable_timing=enable_timing, blocking=blocking, interprocess=interprocess
        )
        made._timing = bool(enable_timing)
        return made

    def record(self, stream=None) -> None:
        super().record(current_stream() if stream is None else stream)

    def wait(self, stream=None) -> None:
        super().wait(current_stream() if stream is None else stream)

    @property
    def npu_event(self) -> int:
        """The event as a number, as C++ sees it."""
        return self.event_id

    def elapsed_time(self, end_event: "Event") -> float:
        """Modelled milliseconds of device time between two recorded events; waits for both, as torch_npu does.

        Raises ValueError for events without enable_timing, RuntimeError for events that were not recorded.
        """
        # torch.Event.elapsed_time takes no subclass of torch.Event (2.13), hence by the events' handles.
        if not (self._timing and getattr(end_event, "_timing", True)):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        start, end = (lib().lab_event_time(event.event_id) for event in (self, end_event))
        if start < 0 or end < 0:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        for event in (self, end_event):
            lib().lab_event_synchronize(event.event_id)
        return (end - start) * 1e-6

    def __repr__(self) -> str:
        return f"<torch_npu.npu.Event {self.event_id:#x}>"


def _existing(stream_id: int, device_index: int) -> Stream:
    return Stream(stream_id=stream_id, device_index=device_index, device_type=_DEVICE_TYPE)


def current_stream(device=None) -> Stream:
    """The stream that this thread issues to."""
    i = index(device)
    return _existing(lib().lab_current_stream(i), i)


def default_stream(device=None) -> Stream:
    return _existing(0, index(device))


def set_stream(stream: Stream | None) -> None:
    """Makes `stream`, and its device, current on this thread."""
    if stream is not None:
        torch.accelerator.set_stream(stream)


class StreamContext:
    """Context manager: work is issued to `stream` inside. None changes nothing."""

    def __init__(self, stream: Stream | None):
        self.stream = stream
        self._before: tuple[int, Stream] | None = None

    def __enter__(self):
        if self.stream is not None:
            self._before = (lib().lab_get_device(), current_stream(self.stream.device))
            set_stream(self.stream)
        return self

    def __exit__(self, *_):
        if self._before is not None:
            device, stream = self._before
            set_stream(stream)
            lib().lab_set_device(device)
            self._before = None
        return False


def stream(stream: Stream | None) -> StreamContext:
    """`with torch.npu.stream(s): ...`"""
    return StreamContext(stream)
