"""Every npu tensor lies in the arena, so that another process can work on it in place; what a second process may do."""

from __future__ import annotations

import ctypes
import os
import threading

import pytest
from device_lab import device, inside, simulated, torch
from torch.nn import functional as F

pytestmark = simulated


def _results():
    g = torch.Generator("npu").manual_seed(0)
    x = torch.randn(8, 8, device="npu", generator=g)
    i = torch.tensor([3, 1], device="npu")
    yield from (x + 1, x @ x, torch.cat([x, x]), x[i], x.sort()[0], x.nonzero(), x.unique(), x.topk(2)[1], x.cumsum(0))
    yield from (x.to(torch.float16), x.half() @ x.half(), x.masked_select(x > 0), torch.where(x > 0, x, -x), x.sum())
    yield from (
        x.clone(),
        x.T.contiguous(),
        x.gather(0, i[None]),
        x.softmax(-1),
        x.argmax(1),
        x.bool().any(0),
        x.cpu().npu(),
    )
    yield from (torch.fft.fft(x), torch.linalg.inv(x), *torch.linalg.svd(x), *x.chunk(2), torch.stack([x, x]), x.std())
    yield from (
        torch.arange(5, device="npu"),
        torch.eye(3, device="npu"),
        torch.randperm(9, device="npu"),
        x.new_zeros(3),
    )
    yield from (torch.linspace(0, 1, 5, device="npu"), torch.full((2,), 3, device="npu"), torch.rand_like(x), x.var(1))
    yield F.pad(x, (1, 1))
    yield from (
        F.conv2d(x[None, None], x[None, None, :3, :3]),
        F.max_pool2d(x[None], 2),
        F.layer_norm(x, (8,)),
        x.tril(),
    )
    yield from (F.embedding(i, x), F.one_hot(i), F.interpolate(x[None, None], scale_factor=2), F.dropout(x), x.kron(x))
    yield from (F.scaled_dot_product_attention(x[None], x[None], x[None]), torch.einsum("ij,kj->ik", x, x))
    yield from (
        x.scatter(0, i[None], 0),
        x.mean(0),
        x.histc(4),
        x.roll(1),
        x.flip(0),
        torch.bincount(i),
        x.renorm(2, 0, 1),
    )


def test_results_lie_in_the_arena():
    results = list(_results())
    assert len(results) > 50
    for t in results:
        assert t.device.type == "npu" and inside(t), t.shape
        assert device.block(t.data_ptr())[2], "a result counts as written"


def test_gradients_lie_in_the_arena():
    x = torch.randn(4, 8, device="npu", requires_grad=True)
    w = torch.randn(8, 8, device="npu", requires_grad=True)
    b = torch.randn(8, device="npu", requires_grad=True)
    hidden = F.linear(x, w, b)
    hidden.retain_grad()
    (F.layer_norm(hidden, (8,)).relu()[:, 1:] * F.softmax(hidden, 0)[:, :-1]).sum().backward()
    assert [inside(t.grad) for t in (x, w, b, hidden)] == [True] * 4, "gradients of x, w, b, hidden in the arena"


def test_cpu_tensors_stay_on_the_heap():
    torch.ones(64, device="npu").sort()
    assert not inside(torch.ones(64) + 1) and not inside(torch.ones(64, device="npu").cpu())


def test_written_state():
    def written(t):
        return device.block(t.data_ptr())[2]

    assert not written(torch.empty(16, device="npu")) and not written(torch.empty_like(torch.ones(16, device="npu")))
    assert written(torch.zeros(16, device="npu")) and written(torch.empty(16, device="npu").fill_(1))
    x = torch.empty(16, device="npu")
    x[:4].copy_(torch.ones(4))  # through a view, from the host
    assert written(x)
    y = torch.empty(16, device="npu")
    torch.add(x, x, out=y)
    z = torch.empty(16, device="npu")
    device.mark_written(z.data_ptr() + 8)
    assert written(y) and written(z)
    assert not written(torch.empty(16, device="npu").resize_(4096)) and written(z.resize_(4096))


# ---- another process


def test_a_forked_process_sees_the_same_bytes():
    import mmap
    import struct

    fd, base, size = device.arena()
    x = torch.arange(1000.0, device="npu")
    offset = x.data_ptr() - base
    child = os.fork()
    if child == 0:  # no torch here: only the descriptor, mapped wherever it fits
        code = 1
        try:
            with mmap.mmap(fd, size) as memory:
                if struct.unpack_from("3f", memory, offset) == (0.0, 1.0, 2.0):
                    struct.pack_into("f", memory, offset + 4, 42.0)
                    code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert x[1].item() == 42


def test_a_forked_process_may_not_use_the_device():
    x = torch.full((1 << 20,), 3.0, device="npu")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with pytest.raises(RuntimeError) as caught:
                x + 1
            del x  # must not give the parent's memory back
            os.write(write, f"{torch.npu._is_in_bad_fork()} {caught.value}".encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    said = os.read(read, 4096).decode()
    assert said.startswith("True Cannot re-initialize NPU in forked subprocess")
    assert x.sum().item() == 3 << 20


def test_data_loader_with_workers_and_pinned_memory():
    data = torch.utils.data.TensorDataset(torch.arange(32.0))
    old = {"pin_memory_device": "npu"} if torch.__version__ < "2.7" else {}  # that one thinks of CUDA only
    loader = torch.utils.data.DataLoader(data, 8, num_workers=2, pin_memory=True, **old)
    batches = [batch for (batch,) in loader]
    assert [b.is_pinned() for b in batches] == [True] * len(batches)
    assert sum(b.npu(non_blocking=True).sum().item() for b in batches) == 31 * 16


def test_a_stream_that_is_none():
    """Null is the current device's default stream; a handle of a device that is not there is nobody's."""
    lib, last = device.library.lib(), ctypes.c_uint32(7)
    device.reset_clock()
    lib.lab_launch_on(None, b"by_null", 5000.0, 0.0, 1)
    assert [(s.name, s.stream) for s in device.timeline()] == [("by_null", 0)]
    lost = lib.lab_stream_handle(63, 0)
    lib.lab_launch_on(lost, b"lost", 5000.0, 0.0, 1)
    lib.lab_drain(lost)
    assert lib.lab_waiting(lost, last) == 0 == last.value and len(device.timeline()) == 1
    assert lib.lab_waiting(None, last) == 1


def test_threads():
    failures = []

    def work(seed):
        x = torch.full((257,), float(seed), device="npu")
        for _ in range(200):
            y = (x * 2 + x).sort()[0]
            if y.sum().item() != 3 * seed * 257:
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
