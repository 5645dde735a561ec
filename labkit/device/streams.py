"""Streams and events of torch.npu, on the virtual clock."""

from __future__ import annotations

import contextlib
import warnings

import torch

from labkit import messages
from labkit.device.devices import existing
from labkit.device.library import lib

_DEVICE_TYPE = 20  # c10::DeviceType::PrivateUse1
_STREAMS = 1 << 15  # more than a device ever has: what a record of the timeline can name


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
        return super().__new__(cls, torch.device("npu", existing(device)), priority=priority)

    @staticmethod
    def priority_range():
        """Raises RuntimeError, as torch_npu does."""
        raise RuntimeError("NPU does not support Stream.priority_range() currently.")

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
    """The stream that a handle (Stream.npu_stream, or one of C++) stands for; 0 for the current device's default one.
    Raises RuntimeError for a number that is no stream's.
    """
    handle = int(stream_ptr)
    if handle == 0:
        return default_stream()
    stream_id, device_index = (handle & 0xFFFFFFFF) - 1, handle >> 32
    existing(device_index)
    if not 0 <= stream_id < _STREAMS:
        raise RuntimeError(messages.text("device.no_stream", handle=f"{handle:#x}"))
    return _existing(stream_id, device_index)


class Event(torch.Event):
    """A point in a stream. Event(enable_timing=False, blocking=False, interprocess=False)."""

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False):
        made = super().__new__(
            cls, torch.device("npu"), enable_timing=enable_timing, blocking=blocking, interprocess=interprocess
        )
        made._timing, made._device = bool(enable_timing), None
        return made

    @property
    def device(self) -> torch.device | None:
        """The device of the stream that it was recorded in; None before."""
        if self._device is None and lib().lab_event_time(self.event_id) >= 0:  # recorded by a torch.Stream
            return super().device
        return self._device

    def record(self, stream=None) -> None:
        stream = current_stream() if stream is None else stream
        super().record(stream)
        self._device = stream.device

    def wait(self, stream=None) -> None:
        super().wait(current_stream() if stream is None else stream)

    @property
    def npu_event(self) -> int:
        """The event as a number, as C++ sees it."""
        return self.event_id

    def recorded_time(self) -> int:
        """Modelled nanoseconds since the clock's zero at which the device came to it; waits for it."""
        at = lib().lab_event_time(self.event_id)
        if at < 0:
            raise RuntimeError("The event must be recorded before its time is asked for.")
        lib().lab_event_synchronize(self.event_id)
        return int(at)

    def elapsed_time(self, end_event: "Event") -> float:
        """Modelled milliseconds of device time between two recorded events; waits for both, as torch_npu does.

        Raises ValueError for events without enable_timing, RuntimeError for events that were not recorded, or on two
        devices.
        """
        # torch.Event.elapsed_time takes no subclass of torch.Event (2.13), hence by the events' handles.
        if not (self._timing and getattr(end_event, "_timing", True)):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        start, end = (lib().lab_event_time(event.event_id) for event in (self, end_event))
        if start < 0 or end < 0:
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        if self.device is not None and getattr(end_event, "device", self.device) != self.device:
            raise RuntimeError(messages.text("device.events_apart", start=self.device, end=end_event.device))
        if lib().lab_event_is_old(self.event_id) != lib().lab_event_is_old(end_event.event_id):
            raise RuntimeError(messages.text("device.event_of_another_zero"))
        for event in (self, end_event):
            lib().lab_event_synchronize(event.event_id)
        return (end - start) * 1e-6

    def __repr__(self) -> str:
        return f"<torch_npu.npu.Event {self.event_id:#x}>"


def _existing(stream_id: int, device_index: int) -> Stream:
    return Stream(stream_id=stream_id, device_index=device_index, device_type=_DEVICE_TYPE)


def current_stream(device=None) -> Stream:
    """The stream that this thread issues to."""
    i = existing(device)
    return _existing(lib().lab_current_stream(i), i)


def default_stream(device=None) -> Stream:
    return _existing(0, existing(device))


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


def erase_stream(tensor: torch.Tensor, stream: torch.Stream) -> None:
    """torch_npu.erase_stream: takes tensor.record_stream(stream) back, where something else has waited for it."""
    lib().lab_erase_stream(tensor.untyped_storage().data_ptr(), (stream.device_index << 32) | (stream.stream_id + 1))


def stream(stream: Stream | None) -> StreamContext:
    """`with torch.npu.stream(s): ...`"""
    return StreamContext(stream)


# ---- marks in a profile: torch.profiler shows them as ranges of the host


class marks:
    """torch_npu._C._mstx: what mstx calls. A mark or a range is a record_function of PyTorch's profiler; the stream and
    the domain do not show there, but each domain has its own stack. watchers: while torch_npu.profiler records mstx
    they get (what, message, domain, number) instead; what: "mark", "start" or "end"."""

    watchers: list = []
    _open: dict[int, object] = {}
    _stacks: dict[str, list[int]] = {}
    _made = 0

    @staticmethod
    def _mark(message: str, stream_id=0, device_index=0, device_type=0, domain: str = "default") -> None:
        if not marks._told("mark", message, domain, 0):
            with torch.autograd.profiler.record_function(message):
                pass

    @staticmethod
    def _told(what: str, message: str, domain: str, number: int) -> bool:
        for watcher in marks.watchers:
            watcher(what, message, domain, number)
        return bool(marks.watchers)

    @staticmethod
    def _range_start(message: str, stream_id=0, device_index=0, device_type=0, domain: str = "default") -> int:
        marks._made += 1
        if not marks._told("start", message, domain, marks._made):
            opened = torch.autograd.profiler.record_function(message)
            opened.__enter__()
            marks._open[marks._made] = opened
        return marks._made

    @staticmethod
    def _range_end(range_id: int, domain: str = "default") -> None:
        marks._told("end", "", domain, range_id)
        opened = marks._open.pop(range_id, None)
        if opened is not None:
            opened.__exit__(None, None, None)

    @staticmethod
    def _range_push(message: str, stream_id=0, device_index=0, device_type=0, domain: str = "default") -> int:
        stack = marks._stacks.setdefault(domain, [])
        stack.append(marks._range_start(message, domain=domain))
        return len(stack) - 1

    @staticmethod
    def _range_pop(domain: str = "default") -> int:
        stack = marks._stacks.get(domain)
        if not stack:
            return -1
        marks._range_end(stack.pop())
        return len(stack)

    @staticmethod
    def _mark_on_host(message: str, domain: str = "default") -> None:
        marks._mark(message, domain=domain)

    @staticmethod
    def _range_start_on_host(message: str, domain: str = "default") -> int:
        return marks._range_start(message, domain=domain)

    @staticmethod
    def _range_push_on_host(message: str, domain: str = "default") -> int:
        return marks._range_push(message, domain=domain)


def _marked(name: str, message, stream, domain, none):
    """Calls marks' function of that name, the one for the host where there is no stream; `none`, and a warning, for
    what torch_npu does not take."""
    for what, good in (("message", bool(message) and isinstance(message, str)), ("domain", isinstance(domain, str)),
                       ("stream", not stream or isinstance(stream, torch.Stream))):  # fmt: skip
        if not good:
            warnings.warn(f"Invalid {what} for mstx.{name.strip('_')} function. Please provide a valid {what}.")
            return none
    if stream:
        where = (stream.stream_id, stream.device_index, stream.device_type)
        return getattr(marks, name)(message, *where, domain)
    return getattr(marks, f"{name}_on_host")(message, domain)


class mstx:
    """torch.npu.mstx: mark(), range_start() and range_end(), range_push() and range_pop(), mstx_range(), annotate()."""

    @staticmethod
    def mark(message: str, stream=None, domain: str = "default") -> None:
        _marked("_mark", message, stream, domain, None)

    @staticmethod
    def range_start(message: str, stream=None, domain: str = "default") -> int:
        """A number for range_end(); 0, and a warning, without a text."""
        return _marked("_range_start", message, stream, domain, 0)

    @staticmethod
    def range_end(range_id: int, domain: str = "default") -> None:
        if not isinstance(range_id, int) or not domain or not isinstance(domain, str):
            warnings.warn("Invalid argument for mstx.range_end function. Please provide what mstx.range_start gave.")
            return
        marks._range_end(range_id, domain)

    @staticmethod
    def range_push(message: str, stream=None, domain: str = "default") -> int:
        """How many ranges are open around this one; -1, and a warning, without a text."""
        return _marked("_range_push", message, stream, domain, -1)

    @staticmethod
    def range_pop(domain: str = "default") -> int:
        """How many ranges stay open; -1 where none was."""
        if not domain or not isinstance(domain, str):
            warnings.warn("Invalid domain for mstx.range_pop function. Please provide a valid domain.")
            return -1
        return marks._range_pop(domain)

    class annotate(contextlib.ContextDecorator):
        """with torch.npu.mstx.annotate("name"): ..., or a decorator."""

        def __init__(self, message: str = "", stream=None, domain: str = "default"):
            self.message, self.stream, self.domain = message, stream, domain
            self.opened: list[int] = []

        def __call__(self, function):
            self.message = self.message or function.__name__
            return super().__call__(function)

        def __enter__(self):
            self.opened.append(mstx.range_start(self.message, self.stream, self.domain))
            return self

        def __exit__(self, *_):
            mstx.range_end(self.opened.pop(), self.domain)

    @staticmethod
    def mstx_range(message: str, stream=None, domain: str = "default"):
        """A decorator: each call of the function is a range."""
        return mstx.annotate(message, stream, domain)


class nvtx:
    """torch.cuda.nvtx after transfer_to_npu: the same marks by their names there."""

    mark, range_start, range_end = mstx.mark, mstx.range_start, mstx.range_end
    range_push, range_pop = mstx.range_push, mstx.range_pop

    @staticmethod
    @contextlib.contextmanager
    def range(msg: str, *args, **kwargs):
        number = mstx.range_start(msg.format(*args, **kwargs))
        try:
            yield
        finally:
            mstx.range_end(number)
