"""torch_npu.npu._sanitizer: finds what two streams do to the same memory without waiting for each other.

    TORCH_NPU_SANITIZER=1 python program.py      # or torch_npu.npu._sanitizer.enable_npu_sanitizer()

Two faults. A data race: an operator on one stream reads or writes what another stream may still write or read; it
raises CUDASanitizerErrors (PyTorch's name) at the operator. A missing record_stream: a tensor was used on another
stream than the one that its memory belongs to, and nothing keeps the allocator from giving that memory out again while
the other stream is at work; said when the tensor goes, or by flush_record_stream_warnings().

PyTorch's own sanitizer for CUDA decides about races; here is what it cannot know of the npu. The device notes what
happens to memory, streams and events (csrc/arena.h), and each operator takes the notes before it runs. A collective
counts as work of the stream that calls it.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import traceback
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.cuda import _sanitizer as pytorch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from labkit import messages
from labkit.device import library, streams

_LOW = (1 << 32) - 1
_INSIDE = (__file__, os.path.join(os.path.dirname(torch.__file__), ""))


def _here() -> traceback.StackSummary:
    """The program's stack, without what stands between its line and the sanitizer."""
    stack = traceback.StackSummary.extract(traceback.walk_stack(inspect.currentframe()), lookup_lines=False)
    stack.reverse()
    while len(stack) > 1 and stack[-1].filename.startswith(_INSIDE):
        stack.pop()
    return stack


def _named(stream: int) -> str:
    return f"npu:{stream >> 32}, stream {(stream & _LOW) - 1}"


@dataclass
class CrossStreamUsage:
    """The last use of a tensor's memory on a stream that it does not belong to."""

    usage_stream: int
    seq_num: int
    operator: str
    stack_trace: traceback.StackSummary


@dataclass
class NPUTensorInfo:
    """A tensor's memory: the stream that it belongs to, those of record_stream, and its uses on others."""

    allocation_stream: int | None = None
    allocation_stack_trace: traceback.StackSummary | None = None
    recorded_streams: set[int] = field(default_factory=set)
    cross_stream_usages: dict[int, CrossStreamUsage] = field(default_factory=dict)
    views: set[int] = field(default_factory=set)  # addresses inside it that operators have used


class MissingRecordStreamError(pytorch.SynchronizationError):
    """A tensor's memory may be given out again while another stream still uses it."""

    def __init__(self, data_ptr: int, info: NPUTensorInfo, usage: CrossStreamUsage):
        self.data_ptr, self.usage, self.usage_stream = data_ptr, usage, usage.usage_stream
        self.allocation_stream, self.allocation_stack_trace = info.allocation_stream, info.allocation_stack_trace
        self.recorded_streams = set(info.recorded_streams)

    def __str__(self) -> str:
        text = messages.text(
            "device.record_stream_missing",
            address=f"{self.data_ptr:#x}",
            own=_named(self.allocation_stream or 0),
            other=_named(self.usage_stream),
            operator=self.usage.operator,
        )
        stacks = [f"{text}\n", *self.usage.stack_trace.format()]
        if self.allocation_stack_trace:
            stacks += [messages.text("device.record_stream_made") + "\n", *self.allocation_stack_trace.format()]
        return "".join(stacks)

    __repr__ = __str__


class NPURecordStreamHandler(pytorch.EventHandler):
    """PyTorch's handler, which finds races, and beside it the tensors whose memory may go too early."""

    def __init__(self) -> None:
        super().__init__()
        self._npu_tensors: dict[int, NPUTensorInfo] = {}  # by the address of their storage
        self._found: list[MissingRecordStreamError] = []

    @property
    def record_stream_errors(self) -> list[MissingRecordStreamError]:
        """All that were found so far: of tensors that have gone, and by flush_record_stream_warnings()."""
        npu_sanitizer.listen()
        return self._found

    def flush_record_stream_warnings(self) -> list[MissingRecordStreamError]:
        """What would be said if every tensor went now; it is printed as well."""
        npu_sanitizer.listen()
        return [error for address in list(self._npu_tensors) for error in self._missing(address)]

    def _missing(self, address: int) -> list[MissingRecordStreamError]:
        info = self._npu_tensors[address]
        own = info.allocation_stream
        if own is None:
            return []
        errors = [
            MissingRecordStreamError(address, info, usage)
            for stream, usage in info.cross_stream_usages.items()
            # safe where record_stream was called, or the memory's own stream waits for that use
            if stream not in info.recorded_streams and not self.syncs.is_ordered_after(own, usage.seq_num, stream)
        ]
        for error in errors:
            print(error, file=sys.stderr)
        self._found += errors
        return errors

    # ---- what the device notes

    def _handle_memory_allocation(self, data_ptr: int, stream: int | None = None) -> None:
        made_at = _here()
        self.tensors_accessed.ensure_tensor_does_not_exist(data_ptr)
        self.tensors_accessed.create_tensor(data_ptr, made_at)
        self._npu_tensors[data_ptr] = NPUTensorInfo(stream, made_at)

    def _handle_memory_deallocation(self, data_ptr: int, stream: int | None = None) -> None:
        if data_ptr in self._npu_tensors:
            self._missing(data_ptr)
            for inside in self._npu_tensors.pop(data_ptr).views:  # or the next tensor here would race with them
                self.tensors_accessed.accesses.pop(inside, None)
        super()._handle_memory_deallocation(data_ptr)

    def _handle_record_stream(self, data_ptr: int, stream: int) -> None:
        if data_ptr in self._npu_tensors:
            self._npu_tensors[data_ptr].recorded_streams.add(stream)

    def _handle_erase_stream(self, data_ptr: int, stream: int) -> None:
        if data_ptr in self._npu_tensors:
            self._npu_tensors[data_ptr].recorded_streams.discard(stream)

    def _handle_device_synchronization(self, device: int | None = None) -> None:
        """The host has waited for all streams of a device, so whatever is issued from now on comes after them."""
        if device is None:
            return super()._handle_device_synchronization()
        for stream in [s for s in self.syncs.current_sync_states if s and s >> 32 == device]:
            self.syncs.all_streams_wait_for_stream(stream)

    def _handle_kernel_launch(
        self, stream, read_only, read_write, outputs, operator, tensor_aliases, storages=None
    ) -> list[pytorch.SynchronizationError]:
        errors = super()._handle_kernel_launch(stream, read_only, read_write, outputs, operator, tensor_aliases)
        stack = None
        for address in read_only | read_write:
            info = self._npu_tensors.get((storages or {}).get(address, address))
            if info is None:
                continue
            info.views.add(address)
            if info.allocation_stream not in (None, stream):
                stack = stack or _here()
                usage = CrossStreamUsage(stream, self.seq_num, str(operator), stack)
                info.cross_stream_usages[stream] = usage
        return errors


class NPUArgumentHandler(pytorch.ArgumentHandler):
    """Which tensors of the npu an operator reads and writes: addresses of their first elements, and their storages."""

    def __init__(self) -> None:
        super().__init__()
        self.storages: dict[int, int] = {}  # of each address
        self.device: torch.device | None = None

    def _handle_argument(self, value: Any, is_write, metadata_only, name=None, is_output=False) -> None:
        if not (isinstance(value, torch.Tensor) and value.is_npu):
            return
        self.device = self.device or value.device
        if value.layout != torch.strided:  # a sparse tensor's parts come as arguments of what works on them
            return
        address = value.data_ptr() or id(value)  # empty tensors have no address
        if is_write:
            self.dataptrs_written.add(address)
        elif not metadata_only:
            self.dataptrs_read.add(address)
        self.storages[address] = value.untyped_storage().data_ptr()
        names = self.tensor_aliases.setdefault(address, [])
        if name is not None:
            names.append(name)
        if is_output:
            self.outputs.add(address)

    def parse_outputs(self, schema, outputs, *, is_factory: bool) -> None:
        """What empty_like() returns is new memory, which the program has from here on: it counts as written."""
        for returned, value in zip(schema.returns, (outputs,)):
            of_view = returned.alias_info is not None and not returned.alias_info.is_write
            handle = functools.partial(
                self._handle_argument, is_write=not of_view, is_output=True, metadata_only=of_view
            )
            pytree.tree_map_(handle, value)


class NPUSanitizerDispatchMode(TorchDispatchMode):
    """Tells the handler of each operator; raises CUDASanitizerErrors where the operator races with an earlier one."""

    def __init__(self, event_handler) -> None:
        super().__init__()
        self.event_handler = event_handler
        self.args_handler: NPUArgumentHandler | None = None

    def parse_inputs(self, schema, args, kwargs, *, is_factory: bool) -> None:
        self.args_handler.parse_inputs(schema, args, kwargs, is_factory=is_factory)

    def parse_outputs(self, schema, outputs, *, is_factory: bool) -> None:
        self.args_handler.parse_outputs(schema, outputs, is_factory=is_factory)

    def check_errors(self, schema) -> None:
        found = self.args_handler
        device = found.device or torch.device("npu", torch.npu.current_device())
        errors = self.event_handler._handle_kernel_launch(
            streams.current_stream(device).npu_stream,
            found.dataptrs_read - found.dataptrs_written,
            found.dataptrs_written,
            found.outputs,
            schema,
            found.tensor_aliases,
            found.storages,
        )
        if errors:
            for error in errors:
                print(error, file=sys.stderr)
            raise pytorch.CUDASanitizerErrors(errors)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch.ops.aten.record_stream.default:  # no work of a stream
            return func(*args, **kwargs)
        npu_sanitizer.listen()
        is_factory = bool(pytorch.FACTORY_FUNCTION_REGEX.match(func._schema.name))
        self.args_handler = handler = NPUArgumentHandler()
        self.parse_inputs(func._schema, args, kwargs, is_factory=is_factory)
        outputs = func(*args, **kwargs)
        npu_sanitizer.listen(but_waits=True)
        self.args_handler = handler  # the operator may have called others
        self.parse_outputs(func._schema, outputs, is_factory=is_factory)
        self.check_errors(func._schema)
        npu_sanitizer.listen()
        return outputs


class SanitizerMode:
    STREAM, KERNEL = 0, 1


class NPUSanitizer:
    """The one of this process. KERNEL, CANN's check inside of kernels, is the twin's work here: it always runs."""

    def __init__(self) -> None:
        self.event_handler: NPURecordStreamHandler | None = None
        self.dispatch: NPUSanitizerDispatchMode | None = None
        self.mode, self.enabled = SanitizerMode.STREAM, False
        self._late: list[tuple[str, int, int]] = []

    def enable(self) -> None:
        """From now on, in this thread and the backward passes that it starts."""
        if self.enabled:
            return
        self.event_handler = NPURecordStreamHandler()
        self.dispatch = NPUSanitizerDispatchMode(self.event_handler)
        self._late = []
        library.lib().lab_watch(1)
        self.dispatch.__enter__()
        self.enabled = True

    def disable(self) -> None:
        if self.enabled and self.dispatch is not None:
            self.dispatch.__exit__(None, None, None)
        library.lib().lab_watch(0)
        self.event_handler = self.dispatch = None
        self.enabled = False

    def enable_kernel_check(self) -> bool:
        """False: it needs kernels that CANN has built for it (ASCEND_OPP_DEBUG_PATH)."""
        return False

    def listen(self, but_waits: bool = False) -> None:
        """Hands on what the device has noted. but_waits: not that the host has waited, which an operator that copies to
        the host does at its end, behind the work that is yet to be told of."""
        noted = self._late + library.watched()
        self._late = [n for n in noted if n[0].endswith("synchronization")] if but_waits else []
        handler = self.event_handler
        for what, first, second in noted if handler is not None else ():
            if but_waits and what.endswith("synchronization"):
                continue
            both = what.startswith("memory") or what in ("record_stream", "erase_stream", "event_record", "event_wait")
            getattr(handler, f"_handle_{what}")(*((first, second) if both else (first,)))
            for callback in _callbacks.get(what, ()):
                told = {"device": (), "memory": (first,)}.get(what.partition("_")[0])
                callback(*((first, second) if both and told is None else (first,) if told is None else told))

    def __del__(self) -> None:
        if sys is not None and not sys.is_finalizing() and self.dispatch is not None:
            self.dispatch.__exit__(None, None, None)


npu_sanitizer = NPUSanitizer()


def enable_npu_sanitizer() -> None:
    npu_sanitizer.enable()


# ---- torch_npu.utils._npu_trace: a program's own functions, called with the same notes while the sanitizer is on

_callbacks: dict[str, list] = {}


def _register(what: str):
    def register(cb, cb_name: str | None = None) -> None:
        _callbacks.setdefault(what, []).append(cb)

    return register


trace = {f"register_callback_for_npu_{what}": _register(what) for what in library.WATCHED}
