"""What a program asks for and the device does not have: numbers of devices and streams, times that are none, sizes of a
tensor without dimensions. And what a forked child may not do.

A wrong version reads or writes memory that is somebody else's, so that these programs are processes of their own.
"""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import sys
import threading

import pytest
from device_lab import device, simulated, torch
from torch.nn import functional as F

pytestmark = simulated

# each(...) prints what a call says, one line a call
EACH = """
import ctypes, torch, labkit
import labkit.device as device
def each(*calls):
    for call in calls:
        try:
            print("nothing:", call())
        except Exception as error:
            print(type(error).__name__ + ":", str(error).splitlines()[0])
"""


def said(code: str, **env: str) -> list[str]:
    run = subprocess.run([sys.executable, "-c", EACH + code], env={**os.environ, **env}, capture_output=True, text=True)
    assert run.returncode == 0, (run.returncode, run.stdout, run.stderr)
    return run.stdout.splitlines()


# ---- devices


def test_a_factory_and_a_generator_of_a_device_that_is_not_there():
    """Factories whose kernel is the CPU's make their memory elsewhere than torch.empty() does."""
    sparse = "torch.sparse_coo_tensor([[0]], [1.0], (2,)).npu()"
    lines = said(
        f"""
s = {sparse}
each(lambda: torch.tril_indices(3, 3, device="npu:7"), lambda: torch.triu_indices(3, 3, device="npu:7"),
     lambda: torch.randperm(5, device="npu:7"), lambda: torch.zeros_like(s, device="npu:7"),
     lambda: torch.Generator("npu:7"), lambda: torch.Stream(device="npu:7"),
     lambda: torch.npu.default_generators[0].get_state().numel() and torch.ones(2, device="npu:7"))
print(torch.tril_indices(3, 3, device="npu:0").shape, torch.Generator("npu:0").device, torch.Generator("npu").device)
"""
    )
    refused, rest = lines[:7], lines[7:]
    assert [line.partition(";")[0] for line in refused] == ["RuntimeError: npu: there is no device 7"] * 7
    assert rest == ["torch.Size([2, 6]) npu:0 npu:0"]


# ---- a forked child


def in_child(work) -> str:
    """What work() returns in a fork of this process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, str(work()).encode())
        except BaseException as error:
            os.write(write, f"raised {error!r}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


def test_a_forked_child_does_not_write_into_its_parents_tensors():
    """None of these allocates: the pages are the parent's, and a write would be seen there."""
    x = torch.arange(1.0, 5.0, device="npu")
    weight = torch.nn.Parameter(torch.ones(4, device="npu"))
    weight.grad = torch.ones(4, device="npu")
    step = torch.optim.SGD([weight], lr=0.5).step
    sparse = torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (4,), check_invariants=True).npu()
    works = {
        "zero_": x.zero_,
        "add_": lambda: x.add_(1),
        "copy_ from the host": lambda: x.copy_(torch.zeros(4)),
        "copy_ on the device": lambda: x[:2].copy_(x[2:]),
        "copy_ to the host": lambda: torch.empty(4).copy_(x),
        "assigned": lambda: x.__setitem__(0, 5),
        "out=": lambda: torch.mul(x, x, out=x),
        "uniform_": x.uniform_,
        "item": lambda: x[0].item(),
        "an optimizer's step": step,
        "sparse": lambda: sparse.mul_(2),
    }

    def tried():
        wrong = {}
        for name, work in works.items():
            try:
                work()
                wrong[name] = "went through"
            except RuntimeError as error:
                if not str(error).startswith("Cannot re-initialize NPU in forked subprocess"):
                    wrong[name] = str(error)
        return wrong

    assert in_child(tried) == "{}"
    assert x.tolist() == [1, 2, 3, 4] and weight.tolist() == [1] * 4 and sparse.to_dense().tolist() == [1, 0, 2, 0]


def test_a_forked_child_computes_on_the_host_as_before():
    x = torch.arange(4.0, device="npu")

    def work():
        found = [x.shape[0], x.view(2, 2).shape[1], x[1:].numel()]  # what looks at sizes only asks no device
        threads = [
            threading.Thread(target=lambda: found.append(int((torch.ones(3) + 1).sum().item()))) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [*found, int(F.linear(torch.ones(2), torch.ones(2, 2)).sum()), torch.randn(3).numel()]

    assert in_child(work) == "[4, 2, 3, 6, 6, 4, 3]"


class OnTheHost(torch.utils.data.Dataset):
    """Beside a tensor of the device, which its workers inherit and do not touch."""

    def __init__(self):
        self.other, self.data = torch.ones(4, device="npu"), torch.arange(8.0)

    def __len__(self):
        return 8

    def __getitem__(self, i):
        return self.data[i].clone().add_(1) * 2


def test_workers_that_make_tensors_of_the_host():
    data = OnTheHost()
    batches = list(torch.utils.data.DataLoader(data, 4, num_workers=2, multiprocessing_context="fork"))
    assert torch.cat(batches).tolist() == [2 * (i + 1) for i in range(8)] and data.other.sum().item() == 4


# ---- tensors of too few dimensions


def test_an_operator_says_itself_that_its_arguments_have_too_few_dimensions():
    """What the device asks for the cost's sake must not answer in its place."""
    number, vector, table = torch.tensor(1.0), torch.ones(3), torch.ones(3, 3)
    calls = {
        "dot": lambda on: torch.dot(on(number), on(vector)),
        "mm": lambda on: torch.mm(on(number), on(table)),
        "bmm": lambda on: torch.bmm(on(number), on(table)),
        "addmm": lambda on: torch.addmm(on(table), on(table), on(number)),
        "addmv": lambda on: torch.addmv(on(vector), on(number), on(vector)),
        "addbmm": lambda on: torch.addbmm(on(table), on(number), on(number)),
        "embedding_bag": lambda on: torch.ops.aten._embedding_bag(on(vector), *(on(torch.tensor([0])),) * 2),
        "attention": lambda on: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*(on(vector),) * 3),
        "conv2d": lambda on: torch.conv2d(on(torch.ones(1, 1, 3, 3)), on(number)),
    }
    for name, call in calls.items():
        with pytest.raises((RuntimeError, IndexError)) as host:
            call(lambda t: t)
        with pytest.raises((RuntimeError, IndexError)) as npu:
            call(lambda t: t.npu())
        assert (npu.type, str(npu.value)) == (host.type, str(host.value)), name


# ---- times


@pytest.mark.parametrize("us", [math.nan, math.inf, -math.inf, -5.0])
def test_a_time_that_is_none_stays_out_of_the_clock(us):
    device.reset_clock()
    device.host_work(3)
    for charge in (device.host_work, lambda t: device.launch("x", t)):
        with pytest.raises(ValueError, match="host_work|launch"):
            charge(us)
    lib = device.library.lib()  # an operator's own library calls these
    lib.lab_host_work(us)
    assert lib.lab_host_ns() == 3000
    lib.lab_launch(b"x", us, 0.0, 0.0)
    lib.lab_launch_on(None, b"x", us, 0.0, 0)
    assert [(s.name, s.end_us - s.start_us) for s in device.timeline()] == [("x", 0.0)] * 2
    torch.npu.synchronize()
    assert 3000 < lib.lab_host_ns() < 1e6
    device.reset_clock()


def test_a_fused_kernel_on_no_core():
    lib = device.library.lib()
    device.reset_clock()
    x = torch.ones(64, device="npu")
    span = (device.library.Passed * 1)((x.data_ptr(), 256.0, 1, 0))
    times = [
        lib.lab_launch_fused(
            b"fused", span, 1, (ctypes.c_double * 4)(1, 1, busy, cores), 0, 0.0, (ctypes.c_double * 4)()
        )
        for busy, cores in ((1, 0), (1, 1), (math.nan, math.nan), (1, -3))
    ]
    assert all(0 <= ns < 1e6 for ns in times), times
    assert times[0] == times[1] == times[3] > 0
    torch.npu.synchronize()
    assert 0 < lib.lab_host_ns() < 1e6
    device.reset_clock()


# ---- streams


def test_a_stream_that_is_not_there_does_not_become_current():
    lines = said(
        """
x = torch.ones(4, device="npu")
for number in (-1, 40000):
    s = torch.Stream(stream_id=number, device_index=0, device_type=20)
    each(lambda: torch.npu.set_stream(s), lambda: torch.accelerator.set_stream(s), lambda: x.record_stream(s))
y = x + 1
del x
print(y.sum().item(), torch.npu.current_stream().stream_id)
"""
    )
    for number, part in ((-1, lines[:3]), (40000, lines[3:6])):
        assert [line.partition(" (")[0] for line in part] == [f"RuntimeError: npu: there is no stream {number}"] * 3
    assert lines[6:] == ["8.0 0"]


def test_a_handle_of_no_stream_is_nobodys():
    """As one of a device that is not there: test_arena.py."""
    lines = said(
        """
lib, last = device.library.lib(), ctypes.c_uint32(7)
for handle in (0xFFFFFFFF, 1 << 20, 1 << 31):
    lib.lab_launch_on(handle, b"lost", 5000.0, 0.0, 1)
    lib.lab_drain(handle)
    print(lib.lab_waiting(handle, last), last.value, len(device.timeline()))
lib.lab_land(7, None, 0)
lib.lab_land(-1, torch.ones(2, device="npu").data_ptr(), 8)
lib.lab_launch_on(lib.lab_stream_handle(0, 32767), b"last", 5000.0, 0.0, 1)
print([(s.name, s.stream) for s in device.timeline() if s.name == "last"])
"""
    )
    assert lines == ["0 0 0"] * 3 + ["[('last', 32767)]"]


def test_a_query_that_says_done_has_seen_the_operators_leave_the_queue():
    lib, last = device.library.lib(), ctypes.c_uint32()
    torch.npu.synchronize()
    stream, event = torch.npu.current_stream(), torch.npu.Event()
    x = torch.ones(1 << 22, device="npu")
    torch.npu.synchronize()
    for query in (stream.query, event.query):
        x.add_(1)
        event.record(stream)
        assert not query() and lib.lab_waiting(None, last) == 1, "an answer of no leaves them where they are"
        while not query():
            pass
        assert lib.lab_waiting(None, last) == 0
    x.add_(1)
    event.record(stream)
    x.add_(1)
    while not event.query():
        pass
    assert lib.lab_waiting(None, last) == 1, "the one behind the event"
    stream.synchronize()


# ---- names


def test_a_short_name_is_not_read_behind_its_end():
    """It lies at the end of a page, and the next one may not be read."""
    lines = said(
        """
import labkit.device.library as library
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
two = libc.mmap(None, 8192, 3, 0x22, -1, 0)
assert libc.mprotect(two + 4096, 4096, 0) == 0
for name in (b"mm", b"profiler", b"profiler::_record_function_enter_new", b"profiler::_record_functio"):
    ctypes.memmove(two + 4096 - len(name) - 1, name + b"\\0", len(name) + 1)
    print(library.lib().lab_recorder_own(two + 4096 - len(name) - 1))
"""
    )
    assert lines == ["0", "0", "1", "0"]


# ---- memory


def test_a_block_given_back_from_another_stream_is_its_own_streams(monkeypatch):
    """In a recording: the event of the free says whose the block is, not who freed it."""
    from labkit.profiler import recorder

    changes = []
    kept = recorder._allocations
    monkeypatch.setattr(recorder, "_allocations", lambda rows: changes.extend(rows) or kept(rows))
    side = torch.npu.Stream()
    recording = recorder.Recorder(memory=True)
    recording.start()
    try:
        with torch.npu.stream(side):
            x = torch.empty(1 << 16, device="npu")
        where = x.data_ptr()
        del x
    finally:
        recording.stop()
    names = recorder._MEMORY.names
    found = [dict(zip(names, row, strict=True)) for row in changes]
    mine = [(r["freed"], r["stream"]) for r in found if r["address"] == where]
    assert mine == [(0, side.stream_id), (1, side.stream_id)]


def test_a_copied_storage_holds_what_was_written():
    """Copy on write: the copy's memory is nobody's operator's result."""

    x = torch.ones(16, device="npu")
    copy = torch._lazy_clone(x)
    where = copy.data_ptr()  # asking for it makes the copy
    assert where != x.data_ptr() and copy.tolist() == [1] * 16
    assert device.block(where)[2], "something was stored there"
