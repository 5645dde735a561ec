"""Log-softmax: warmed by a function of its own on other tensors, timed by a context manager."""

import contextlib
import statistics
import time

import torch
import torch_npu  # noqa: F401

SHAPES = [(128, 1000), (512, 4000)]


@contextlib.contextmanager
def clock(into, calls):
    torch.npu.synchronize()
    begin = time.perf_counter()
    yield
    torch.npu.synchronize()
    into.append((time.perf_counter() - begin) * 1e6 / calls)


def prepare(shape):
    """Loads the operator and fills the allocator's cache with data that is not measured."""
    scrap = []
    for _ in range(5):
        other = torch.full(shape, 0.5).npu()
        with clock(scrap, 1):
            torch.log_softmax(other, dim=-1)


def measure(shape):
    x, us = torch.rand(shape).npu(), []
    for _ in range(30):
        with clock(us, 20):
            for _ in range(20):
                torch.log_softmax(x, dim=-1)
    return us


for shape in SHAPES:
    prepare(shape)
    us = measure(shape)
    cuts = statistics.quantiles(us, n=10)
    print(f"log_softmax float32 {shape}, hot cache: median {statistics.median(us):.2f} us, P10 {cuts[0]:.2f}, P90 {cuts[-1]:.2f}, mean {statistics.fmean(us):.2f}")
