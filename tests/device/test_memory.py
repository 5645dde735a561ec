"""Device memory of the simulated npu: the caching allocator's numbers, running out, and what the host gets back."""

from __future__ import annotations

import gc
import os
import random
import re
import subprocess
import sys

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated as on_the_simulation  # noqa: E402

import labkit.device as device  # noqa: E402
from labkit.device import rates, simulated  # noqa: E402

pytestmark = on_the_simulation
MIB = 1 << 20


@pytest.fixture(autouse=True)
def clean():
    """Each test starts with nothing cached and finds its own peaks."""
    gc.collect()
    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()
    yield
    torch.npu.set_per_process_memory_fraction(1.0)


def python(code: str, **env: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **env}, capture_output=True, text=True)


def test_blocks_are_rounded_as_torch_npu_rounds_them():
    before = torch.npu.memory_allocated()
    x = torch.empty(1, dtype=torch.uint8, device="npu")
    y = torch.empty(512, dtype=torch.uint8, device="npu")  # 512 + 32 bytes: the next multiple of 512
    assert x.data_ptr() % 512 == y.data_ptr() % 512 == 0
    assert torch.npu.memory_allocated() - before == 512 + 1024
    del x, y
    assert torch.npu.memory_allocated() == before


@pytest.fixture
def spare():
    """Bytes, in steps of 2 MiB, that lie free between what earlier tests still hold: no segment begins for less."""
    free = torch.npu.memory_reserved() - torch.npu.memory_allocated()
    return -(-free // (2 * MIB)) * 2 * MIB


def test_segments_cache_and_peaks(spare):
    allocated, reserved = torch.npu.memory_allocated(), torch.npu.memory_reserved()
    x = torch.empty(30 * MIB + spare, dtype=torch.uint8, device="npu")  # a segment of its own, in steps of 2 MiB
    assert torch.npu.memory_reserved() - reserved == 32 * MIB + spare
    pointer = x.data_ptr()
    del x
    assert torch.npu.memory_allocated() == allocated
    assert torch.npu.memory_reserved() - reserved == 32 * MIB + spare, "free memory stays in the cache"
    assert torch.npu.max_memory_allocated() - allocated == 30 * MIB + spare + 512
    x = torch.empty(29 * MIB + spare, dtype=torch.uint8, device="npu")
    assert x.data_ptr() == pointer, "and is used again"
    del x
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() == reserved
    torch.npu.reset_peak_memory_stats()
    assert torch.npu.max_memory_allocated() == allocated and torch.npu.max_memory_reserved() == reserved
    free, total = torch.npu.mem_get_info()
    assert total - free == reserved


def test_results_of_operators_are_counted():
    before = torch.npu.memory_allocated()
    x = torch.randn(256, 256, device="npu")
    block = torch.npu.memory_allocated() - before
    assert block == 256 * 256 * 4 + 512
    results = [x.sort(), x @ x, x[x > 0], torch.linalg.inv(x)]
    assert torch.npu.memory_allocated() - before >= 5 * 256 * 256 * 4
    del results, x
    assert torch.npu.memory_allocated() == before, "nor is scratch memory of a CPU kernel left behind"
    stats = torch.npu.memory_stats()
    assert stats["allocated_bytes.all.current"] == before
    if hasattr(torch.accelerator, "memory_allocated"):  # torch 2.9
        assert torch.accelerator.memory_allocated() == before
    assert "reserved" in torch.npu.memory_summary()


@pytest.mark.skipif(not hasattr(torch.accelerator, "memory_stats"), reason="torch 2.9")
def test_counts_have_peaks_and_totals_too():
    def asked():
        npu, accelerator = torch.npu.memory_stats(), torch.accelerator.memory_stats()
        same = {name: n for name, n in npu.items() if name in accelerator}
        assert {name: accelerator[name] for name in same} == same, "both say the same of what both know"
        return accelerator

    gc.collect()  # what other tests have left is given back now, and not between two looks
    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()
    before = asked()
    # Other tests' living tensors keep segments with room beside them: more than all that room needs a segment of its own.
    room = torch.npu.memory_reserved() - torch.npu.memory_allocated()
    size = 30 * MIB + -(-room // MIB) * MIB
    some = [torch.empty(size, dtype=torch.uint8, device="npu") for _ in range(3)]
    during = asked()
    del some
    torch.npu.empty_cache()
    after = asked()
    for name, more in (("allocation", 3), ("segment", 3), ("requested_bytes", 3 * size)):
        assert after[f"{name}.all.peak"] == during[f"{name}.all.current"] == before[f"{name}.all.current"] + more, name
        assert after[f"{name}.all.current"] == before[f"{name}.all.current"], name
    assert after["allocation.all.allocated"] - before["allocation.all.allocated"] == 3
    assert after["allocation.all.freed"] - before["allocation.all.freed"] == 3
    torch.npu.reset_peak_memory_stats()
    now = asked()
    for name in ("allocation", "segment", "requested_bytes"):
        assert now[f"{name}.all.peak"] == now[f"{name}.all.current"], name


def test_what_an_operator_made_itself_is_in_the_peak():
    """nonzero() gets memory before its size is known: its result counts once it is a tensor's, also in the peak."""
    x = torch.ones(1 << 20, device="npu")
    torch.npu.reset_peak_memory_stats()
    before = torch.npu.memory_stats()
    found = x.nonzero()
    stats = torch.npu.memory_stats()
    grown = stats["allocated_bytes.all.current"] - before["allocated_bytes.all.current"]
    assert grown == found.nbytes + 512
    assert stats["allocated_bytes.all.peak"] >= stats["allocated_bytes.all.current"], "a peak below what is there"
    assert torch.npu.max_memory_allocated() >= before["allocated_bytes.all.current"] + grown
    assert stats["requested_bytes.all.current"] - before["requested_bytes.all.current"] == found.nbytes
    assert stats["allocation.all.current"] - before["allocation.all.current"] == 1
    del found
    after = torch.npu.memory_stats()
    for name in ("allocated_bytes", "requested_bytes", "allocation"):
        assert after[f"{name}.all.current"] == before[f"{name}.all.current"], name


def test_the_allocator_keeps_its_books():
    """Random sizes in random order: no two tensors overlap, no content is lost, the sums agree."""

    def requested() -> int:
        return torch.npu.memory_stats()["requested_bytes.all.current"]

    rng, live, before, asked = random.Random(0), [], torch.npu.memory_allocated(), requested()
    for step in range(600):
        if live and (len(live) > 40 or rng.random() < 0.45):
            tensor, value = live.pop(rng.randrange(len(live)))
            assert bool((tensor == value).all())
            del tensor
        else:
            size = int(2 ** rng.uniform(0, 22))
            live.append((torch.full((size,), step % 251, dtype=torch.uint8, device="npu"), step % 251))
    ends = sorted((t.data_ptr(), t.data_ptr() + t.numel()) for t, _ in live)
    assert [(a, b) for a, b in zip(ends, ends[1:]) if a[1] > b[0]] == [], "tensors overlap"
    # A block of more than 1 MiB may hold up to 1 MiB that is not worth splitting off.
    rounded = [(t.numel() + 32 + 511) // 512 * 512 for t, _ in live]
    extra = torch.npu.memory_allocated() - before - sum(rounded)
    assert 0 <= extra <= MIB * sum(size > MIB for size in rounded)
    assert requested() - asked == sum(t.numel() for t, _ in live)
    live.clear()
    torch.npu.empty_cache()
    assert torch.npu.memory_allocated() == before


def test_block():
    x = torch.empty(1000, dtype=torch.float16, device="npu")
    assert device.block(x[10:].data_ptr()) == (x.data_ptr(), 2000, False)
    assert device.block(torch.ones(4).data_ptr()) is None
    _, base, size = device.arena()
    assert device.block(base + size - 1) is None
    assert base == 0x200000000000 and size == 64 << 30


# ---- running out


def test_out_of_memory_at_the_chip_or_at_the_host():
    with pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(70 << 30, dtype=torch.uint8, device="npu")
    text = str(caught.value)
    assert "NPU out of memory. Tried to allocate 70.00 GiB (NPU 0;" in text and "total capacity" in text
    host_is_smaller = rates.host_memory() < 64 << 30
    assert ("The limit is this machine's" if host_is_smaller else "The limit is the chip's") in text
    assert torch.npu.memory_stats()["num_ooms"] >= 1


def test_out_of_memory_at_the_fraction(spare):
    total = torch.npu.mem_get_info()[1]
    held = torch.npu.memory_reserved()
    torch.npu.set_per_process_memory_fraction((held + spare + 64 * MIB) / total)
    x = torch.empty(40 * MIB + spare, dtype=torch.uint8, device="npu")
    with pytest.raises(torch.OutOfMemoryError, match="set_per_process_memory_fraction"):
        torch.empty(40 * MIB + spare, dtype=torch.uint8, device="npu")
    with pytest.raises(torch.OutOfMemoryError):  # also where a CPU kernel asks for its result
        x.to(torch.int64)
    del x
    torch.empty(50 * MIB + spare, dtype=torch.uint8, device="npu")  # the cache is given up for it


def test_error_in_chinese():
    code = (
        "import labkit.device, torch\n"
        "try: torch.empty(70 << 30, dtype=torch.uint8, device='npu')\n"
        "except torch.OutOfMemoryError as e: print(e)\n"
    )
    said = python(code, LABKIT_LANG="zh", PYTHONUTF8="1").stdout
    assert said.startswith("NPU out of memory. Tried to allocate 70.00 GiB") and "上限" in said


def test_address_space_refused():
    code = (
        "import torch, resource\n"
        "resource.setrlimit(resource.RLIMIT_AS, (32 << 30, 32 << 30))\n"
        "import labkit\n"
        "try: labkit.device.install()\n"
        "except RuntimeError as e: print(e)\n"
    )
    said = python(code).stdout
    assert "64 GiB of address space at 0x200000000000 were refused (mmap: " in said and "LABKIT_ARENA_GB=8" in said


def test_bad_environment(monkeypatch):
    monkeypatch.setenv("LABKIT_ARENA_GB", "much")
    with pytest.raises(RuntimeError, match="LABKIT_ARENA_GB=much cannot be used"):
        simulated._number("LABKIT_ARENA_GB", 64)
    for name, text in (
        ("ARENA_GB", "nan"),
        ("ARENA_GB", "inf"),
        ("ARENA_GB", "1e30"),
        ("NPUS", "0.5"),
        ("NPUS", "1e10"),
    ):
        monkeypatch.setenv(f"LABKIT_{name}", text)
        with pytest.raises(RuntimeError, match=re.escape(f"LABKIT_{name}={text} cannot be used")):
            simulated._number(f"LABKIT_{name}", 1, whole=name == "NPUS")


# ---- the host's memory


def test_large_freed_memory_goes_back_to_the_host():
    fd, _, _ = device.arena()

    def resident() -> int:
        return os.fstat(fd).st_blocks * 512

    before = resident()
    tensors = [torch.ones(200 * MIB, dtype=torch.uint8, device="npu") for _ in range(4)]
    assert resident() - before >= 790 * MIB
    reserved = torch.npu.memory_reserved()
    del tensors
    assert resident() - before <= 520 * MIB, "the cache keeps at most 512 MiB of pages"
    assert torch.npu.memory_reserved() == reserved, "which the chip's statistics do not show"
    torch.npu.empty_cache()
    assert resident() - before <= 8 * MIB
    assert torch.zeros(200 * MIB, dtype=torch.uint8, device="npu").max().item() == 0


# ---- several devices


def test_two_devices():
    code = """
import labkit.device, torch
assert torch.npu.device_count() == 2
x = torch.ones(1000, device="npu:1")
assert torch.npu.memory_allocated(1) > 0 == torch.npu.memory_allocated(0)
with torch.npu.device(1):
    assert torch.ones(2, device="npu").device.index == 1 == torch.npu.current_device()
assert torch.npu.current_device() == 0 and (x * 2).device.index == 1 and x.to("npu:0").device.index == 0
try: x + torch.ones(1000, device="npu:0")
except RuntimeError as e: assert "npu:1 and npu:0" in str(e), e
else: raise SystemExit("not refused")
x.requires_grad_().sum().backward()
assert x.grad.device.index == 1
"""
    run = python(code, LABKIT_NPUS="2")
    assert run.returncode == 0, run.stderr.strip().splitlines()[-1] + "\n" + run.stderr


def test_sparse_tensors_and_events_of_another_device():
    code = """
import labkit.device, torch
x = torch.tensor([[0.0, 1, 0], [2, 0, 3]], device="npu:1")
places = torch.tensor([[0, 1], [1, 0]])
host = torch.sparse_coo_tensor(places, torch.ones(2), (2, 2), check_invariants=True)
for made in (x.to_sparse(), x.to_sparse_csr(), x.to_sparse() * 2, host.to("npu:1"), host.to("npu:0").to("npu:1"),
             torch.sparse_coo_tensor(places, torch.ones(2), (2, 2), device="npu:1"),
             torch.sparse_coo_tensor((2, 2), device="npu:1")):
    assert made.device.index == made.values().device.index == 1 if made.layout == torch.sparse_csr else made.device.index == 1, made
assert (x.to_sparse() * 2).to_dense().cpu().tolist() == [[0, 2, 0], [4, 0, 6]]
ends = [torch.npu.Event(enable_timing=True) for _ in range(3)]
assert ends[0].device is None
for event, device in zip(ends, (0, 0, 1)):
    with torch.npu.device(device):
        event.record()
assert [event.device.index for event in ends] == [0, 0, 1]
assert ends[0].elapsed_time(ends[1]) >= 0
try: print(ends[0].elapsed_time(ends[2]))
except RuntimeError as e: assert "npu:0 and npu:1" in str(e), e
else: raise AssertionError("a time between two devices")
"""
    run = python(code, LABKIT_NPUS="2")
    assert run.returncode == 0, run.stderr.strip().splitlines()[-1] + "\n" + run.stderr


def test_a_copy_to_another_device_takes_the_link_between_them_and_both_wait():
    code = """
import labkit.device as device, torch
from labkit import chips
x, y = torch.ones(1 << 22, device="npu:1"), torch.empty(1 << 22, device="npu:0")
torch.npu.synchronize(0), torch.npu.synchronize(1)
device.reset_clock()
for _ in range(3):
    y.mul_(2)
x.add_(1)
y.copy_(x)
y.mul_(2)
x.add_(1)
copy, = [s for s in device.timeline() if s.name == "MEMCPY_D2D"]
assert (copy.engine, copy.device) == ("link", 1), copy
others = [s for s in device.timeline() if s != copy]
before, after = others[:4], others[4:]
assert copy.start_us >= max(s.end_us for s in before) and all(s.start_us >= copy.end_us for s in after), others
assert {s.device for s in after} == {0, 1}, after
table = chips.flat(device.chip())
want = (table["host.link_latency"] + x.nbytes / table["links.peer"]) * 1e6
assert abs(copy.end_us - copy.start_us - want) < 0.01 * want, (copy, want)
assert (y == 4).all() and y.device.index == 0
from labkit.profiler.recorder import Recorder
recorder = Recorder()
recorder.start()
y.copy_(x)
session = recorder.stop()
assert [(t.name, t.kind, t.device) for t in session.tasks] == [("MEMCPY_D2D", "copy", 1)], session.tasks
assert [c.name for c in session.calls] == ["aclrtMemcpyAsync"], session.calls
"""
    run = python(code, LABKIT_NPUS="2")
    assert run.returncode == 0, run.stderr.strip().splitlines()[-1] + "\n" + run.stderr


def test_the_cache_of_one_device_is_given_up_for_another():
    """The devices share this machine's memory and the lab's addresses."""
    code = """
import labkit.device, torch
torch.empty(600 << 20, dtype=torch.uint8, device="npu:0")
assert torch.npu.memory_reserved(0) >= 600 << 20
torch.empty(600 << 20, dtype=torch.uint8, device="npu:1")
assert torch.npu.memory_reserved(0) == 0
"""
    run = python(code, LABKIT_NPUS="2", LABKIT_ARENA_GB="1")
    assert run.returncode == 0, run.stderr.strip().splitlines()[-1] + "\n" + run.stderr


def test_streams_and_books_of_two_devices():
    """What is current goes back to what it was, device and stream; each device has times and peaks of its own."""
    code = """
import labkit.device as device, torch
for d in (0, 1):
    begun = {k: v for k, v in torch.npu.memory_stats(d).items() if v and k != "max_split_size"}  # that is a setting
    assert not begun, f"before anything was allocated on {d}: {begun}"
first = torch.ones(3, device="npu")
books = torch.npu.memory_stats(0)
assert (books["allocation.all.current"], books["segment.all.current"], books["num_ooms"], books["num_alloc_retries"]) == (1, 1, 0, 0), books
del first
torch.npu.reset_peak_memory_stats(0)
torch.npu.empty_cache()
torch.npu.synchronize()
device.reset_clock()
other, home = torch.npu.Stream(device="npu:1"), torch.npu.Stream()
torch.npu.set_stream(home)
with torch.npu.stream(other):
    assert torch.npu.current_device() == 1 and torch.npu.current_stream() == other
    with torch.npu.stream(None):
        assert torch.npu.current_device() == 1 and torch.npu.current_stream() == other
    x = torch.ones(1 << 20, device="npu:1")
    x + 1
assert torch.npu.current_device() == 0, "the device of before"
assert torch.npu.current_stream() == home and torch.npu.current_stream(1) == torch.npu.default_stream(1), "and both streams"
spans = [s for s in device.timeline() if s.stream == other.stream_id]
assert spans and {s.device for s in device.timeline()} == {1}, device.timeline()
assert not other.query() and home.query(), "work of one device does not hold up the other"
torch.npu.synchronize(0)
assert not other.query()
torch.npu.synchronize(1)
assert other.query()
assert torch.npu.max_memory_allocated(1) >= 2 * x.nbytes and torch.npu.max_memory_allocated(0) == 0
torch.npu.reset_peak_memory_stats(0)
assert torch.npu.max_memory_allocated(1) >= 2 * x.nbytes
torch.npu.reset_peak_memory_stats(1)
assert torch.npu.max_memory_allocated(1) == torch.npu.memory_allocated(1) < 2 * x.nbytes
try: torch.npu.set_device(2)
except RuntimeError: pass
else: raise SystemExit("device 2 of 2")
"""
    run = python(code, LABKIT_NPUS="2")
    assert run.returncode == 0, run.stderr.strip().splitlines()[-1] + "\n" + run.stderr


def test_pinned_memory_is_counted():
    if tuple(int(n) for n in torch.__version__.split(".")[:2]) < (2, 11):
        assert torch.npu.host_memory_stats() == {}, "PyTorch keeps no numbers of pinned memory before 2.11"
        return
    gc.collect()
    before = torch.npu.host_memory_stats()
    pinned = torch.empty(1000, dtype=torch.uint8, pin_memory=True)
    now = torch.npu.host_memory_stats_as_nested_dict()
    assert now["allocated_bytes"]["current"] == before["allocated_bytes.current"] + pinned.nbytes
    assert now["num_host_alloc"] == before["num_host_alloc"] + 1
    del pinned
    torch.npu.reset_peak_host_memory_stats()
    torch.npu.reset_accumulated_host_memory_stats()
    after = torch.npu.host_memory_stats()
    assert after["allocations.peak"] == after["allocations.current"] == before["allocations.current"]
    assert after["allocations.allocated"] == after["num_host_alloc"] == 0


def test_a_program_registers_its_own_memory():
    import ctypes

    runtime, own = torch.npu.npurt(), torch.ones(4096)
    assert not own.is_pinned()
    assert runtime.npuHostRegister(own.data_ptr(), own.nbytes, 0x10000000) == 0 and own.is_pinned()
    assert runtime.npuHostRegister(own.data_ptr(), own.nbytes, 0x10000000) != 0  # it is already
    assert runtime.npuHostUnregister(own.data_ptr()) == 0 and not own.is_pinned()
    assert runtime.npuHostUnregister(own.data_ptr()) != 0 and runtime.npuHostRegister(own.data_ptr(), 0, 0) != 0
    pinned = torch.ones(8).pin_memory()  # both ways: what PyTorch has pinned stays so
    assert runtime.npuHostRegister(pinned.data_ptr(), pinned.nbytes, 0) == 0
    assert runtime.npuHostUnregister(pinned.data_ptr()) == 0 and pinned.is_pinned()
    stream = ctypes.c_uint64()
    assert runtime.npuStreamCreate(ctypes.addressof(stream)) == 0
    assert torch.npu.ExternalStream(stream.value).npu_stream == stream.value
    assert runtime.npuStreamDestroy(stream.value) == 0 and runtime.npuStreamDestroy(stream.value) != 0


def test_pinned_memory_where_registered_memory_lay():
    """Freed without being taken back: malloc gives the same address to an allocation, which is not the program's."""
    program = """
import labkit, torch
labkit.device.install()
runtime, size = torch.npu.npurt(), 1 << 16
address = torch.empty(size, dtype=torch.uint8, pin_memory=True).data_ptr()  # free again
assert runtime.npuHostRegister(address, size, 0) == 0
pinned = torch.empty(size, dtype=torch.uint8, pin_memory=True)
print(pinned.data_ptr() == address)
runtime.npuHostUnregister(address)
assert pinned.is_pinned()
del pinned
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    if done.stdout.split() != ["True"]:
        pytest.skip("malloc gave another address")


def test_memory_can_be_registered_before_anything_else():
    """Until the device is initialized PyTorch says of no memory that it is pinned: what asks for the runtime must do it."""
    program = """
import labkit, torch
from labkit import device
device.install()
own = torch.ones(4096)
runtime = torch.npu.npurt()
assert runtime.npuHostRegister(own.data_ptr(), own.nbytes, 0) == 0
print(own.is_pinned(), runtime.npuHostUnregister(own.data_ptr()), own.is_pinned())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "0", "False"], done.stdout + done.stderr


def test_settings_of_the_allocator():
    settings = torch.npu.memory._set_allocator_settings
    try:
        settings("throw_on_npumalloc_oom:True,per_process_memory_fraction:0.25")
        assert torch.npu.get_per_process_memory_fraction() == 0.25
    finally:
        torch.npu.set_per_process_memory_fraction(1.0)
    with pytest.warns(UserWarning, match="max_split_size_mb"):
        settings("max_split_size_mb:50")
    for wrong in (
        "throw_on_npumalloc_oom:maybe", "no_such_setting:1",
        "per_process_memory_fraction:abc", "per_process_memory_fraction:2", "per_process_memory_fraction",
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=wrong.partition(":")[0]):
            settings(wrong)


# ---- streams


def _used_elsewhere(recorded: bool) -> tuple[bool, torch.Tensor, int]:
    """A tensor is freed while a side stream still reads it: whether the next one gets its memory; that one; its
    address."""
    torch.npu.synchronize()
    torch.npu.empty_cache()
    side = torch.npu.Stream()
    x = torch.ones(1 << 20, device="npu")
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        torch.npu._sleep(1 << 20)
        x.sum()
    address = x.data_ptr()
    if recorded:
        x.record_stream(side)
    del x
    new = torch.empty(1 << 20, device="npu")
    return new.data_ptr() == address, new, address


def test_recorded_memory_is_nobodys_until_the_stream_has_done_its_work():
    assert _used_elsewhere(recorded=False)[0], "as on a card, where it would be overwritten"
    again, kept, address = _used_elsewhere(recorded=True)
    stats = torch.npu.memory_stats()
    waiting = [
        b["size"] for s in torch.npu.memory_snapshot() for b in s["blocks"] if b["state"] == "active_pending_free"
    ]
    assert not again and waiting == [stats["active_bytes.all.current"] - stats["allocated_bytes.all.current"]]
    torch.npu.synchronize()
    later = torch.empty(1 << 20, device="npu")
    assert later.data_ptr() == address and kept.data_ptr() != address
    assert torch.npu.memory_stats()["active_bytes.all.current"] == torch.npu.memory_allocated()


def test_recorded_memory_comes_back_where_there_is_no_other():
    """And when the clock begins anew."""
    assert not _used_elsewhere(recorded=True)[0]
    torch.npu.empty_cache()
    assert not any(b["state"] == "active_pending_free" for s in torch.npu.memory_snapshot() for b in s["blocks"])
    assert not _used_elsewhere(recorded=True)[0]
    device.reset_clock()
    assert not any(b["state"] == "active_pending_free" for s in torch.npu.memory_snapshot() for b in s["blocks"])


def test_each_stream_has_a_cache_of_its_own():
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        address = torch.empty(1 << 20, device="npu").data_ptr()
    here = torch.empty(1 << 20, device="npu")
    with torch.npu.stream(side):
        there = torch.empty(1 << 20, device="npu")
    assert here.data_ptr() != address and there.data_ptr() == address
    segment = next(s for s in torch.npu.memory_snapshot() if s["address"] <= address < s["address"] + s["total_size"])
    assert segment["stream"] == side.stream_id


def test_a_stream_of_another_device_is_not_recorded():
    with pytest.raises(RuntimeError, match="the stream is on cpu"):
        torch.ones(2, device="npu").record_stream(torch.Stream(device="cpu"))
    torch.empty(0, device="npu").record_stream(torch.npu.Stream())
