"""A launch that an operator's C++ side makes: the kernel runs on the twin, on the memory that the pointers point to."""

from __future__ import annotations

import ctypes
import time
from ctypes import c_char_p, c_int, c_uint32, c_void_p

from labkit import device, messages
from labkit.device.library import lib
from labkit.launch.kernel import MOST_BLOCKS, Kernel, pointed_to, run_on_twin
from labkit.launch.record import Finding, LaunchRecord, announce

_TYPE = ctypes.CFUNCTYPE(
    c_void_p,
    c_int,
    c_char_p,
    c_uint32,
    c_void_p,
    c_int,
    c_char_p,
    c_int,
    c_int,
    ctypes.POINTER(c_void_p),
    ctypes.POINTER(c_uint32),
)
_adapters: dict[int, "object"] = {}  # number -> what labkit.register() made; looked up at every launch
_said = ctypes.create_string_buffer(b"")  # the text of the last error, until the next launch


def serve(number: int, adapter) -> None:
    """From now on launches of the library `number` are `adapter`'s."""
    _adapters[number] = adapter
    lib().lab_set_launcher(ctypes.cast(_launcher, c_void_p))


def forget(number: int) -> None:
    _adapters.pop(number, None)


@_TYPE
def _launcher(number, name, blocks, stream, queued, file, line, count, values, sizes):
    global _said
    try:
        given = [ctypes.string_at(values[i], sizes[i]) for i in range(count)]
        _run(_adapters[number], name.decode(), blocks, stream or 0, bool(queued), file.decode(), line, given)
        return None
    except BaseException as error:  # C++ makes a RuntimeError of the text
        text = str(error) if isinstance(error, Exception) else f"{type(error).__name__}: {error}"
        _said = ctypes.create_string_buffer(text.encode())
        return ctypes.addressof(_said)


def _run(adapter, name: str, blocks: int, stream: int, queued: bool, file: str, line: int, values: list[bytes]) -> None:
    kernel: Kernel = adapter.kernels[name]
    began = time.perf_counter()
    on = (stream or lib().lab_stream_handle(lib().lab_get_device(), 0)) >> 32
    ranges, elsewhere = [], []
    for i, (param, value) in enumerate(zip(kernel.signature.params, values)):
        if param.kind != "gm":
            ranges += pointed_to(i, value)
            continue
        pointer = int.from_bytes(value, "little")
        if not pointer:
            continue
        home = device.block(pointer)
        if home is None:
            raise RuntimeError(
                messages.text(
                    "adapter.host_pointer",
                    index=i + 1,
                    name=param.name,
                    kernel=kernel.signature.name,
                    file=adapter.name,
                    line=line,
                )
            )
        where = lib().lab_device_of(pointer)
        if where != on:
            elsewhere.append((param.name, where))
        ranges.append((i, pointer, home[0] + home[1] - pointer, home[2]))
    before = _order(stream, on, queued, elsewhere, file, line)
    if not 1 <= blocks <= MOST_BLOCKS:
        adapter.record = _refused(kernel, blocks, file, line)
        announce(adapter.record)
        return
    record = run_on_twin(kernel, blocks, values, ranges)
    record.findings[:0] = before
    lib().lab_launch_on(
        stream or lib().lab_stream_handle(on, 0),
        kernel.signature.name.encode(),
        record.time_us * 1e3,
        float(sum(r[2] for r in ranges)),
        int(queued),
    )
    for _, pointer, size, _ in ranges:
        lib().lab_touch_l2(pointer, size, 0)
    record.wall_s = time.perf_counter() - began
    adapter.record = record
    announce(record)


def _refused(kernel: Kernel, blocks: int, file: str, line: int) -> LaunchRecord:
    """The record of a launch that runtimes do not take: nothing has run."""
    refused = LaunchRecord(
        "twin", kernel.signature.name, blocks, 0.0, "modelled", kernel.chip, finished=False, crashed="host-blocks"
    )
    numbers = {"call": kernel.signature.name, "blocks": blocks}
    refused.findings = [Finding("host-blocks", "error", -1, file, line, numbers)]
    return refused


def _order(stream: int, on: int, queued: bool, elsewhere: list[tuple[str, int]], file: str, line: int) -> list[Finding]:
    """What is wrong with where and when the kernel is launched;
    on the card such a launch gives wrong numbers, sometimes.
    """
    found = [
        Finding("host-other-device", "error", -1, file, line, {"name": name, "where": where, "device": on})
        for name, where in elsewhere[:1]
    ]
    last = c_uint32()
    waiting = lib().lab_waiting(stream or lib().lab_stream_handle(on, 0), last)
    if waiting and not queued:
        newest = lib().lab_record_name(last).decode()
        found.append(Finding("host-stream-queue", "error", -1, file, line, {"waiting": waiting, "last": newest}))
    return found
