"""Copy bandwidth of device memory, with several buffers in turn."""
import torch
import torch_npu
import itertools

import numpy as np

ELEMENTS = 4 * 1024 * 1024
BUFFERS = 3
WARMUP, SAMPLES = 4 * BUFFERS, 60


def pairs():
    for index in range(BUFFERS):
        source = torch.full((ELEMENTS,), float(index + 1)).npu()
        yield source, torch.zeros(ELEMENTS).npu()


buffers = list(pairs())
turn = itertools.cycle(buffers)
for _ in range(WARMUP):
    source, target = next(turn)
    target.copy_(source)
torch.npu.synchronize()
for source, target in buffers:
    assert torch.equal(source.cpu(), target.cpu())

marks = []
for _ in range(SAMPLES):
    source, target = next(turn)
    start = torch.npu.Event(enable_timing=True)
    stop = torch.npu.Event(enable_timing=True)
    start.record()
    target.copy_(source)
    stop.record()
    marks.append((start, stop))
torch.npu.synchronize()

seconds = np.array([a.elapsed_time(b) for a, b in marks]) / 1e3
moved = 2 * ELEMENTS * 4
rate = moved / seconds / 1e9
p10, p50, p90 = np.percentile(rate, [10, 50, 90])
print(f"device-to-device copy of {ELEMENTS} float32 ({ELEMENTS * 4 / 2**20:.0f} MiB), {BUFFERS} pairs of buffers in turn")
print(f"HBM bandwidth, read plus write: P10 {p10:.0f} GB/s, P50 {p50:.0f} GB/s, P90 {p90:.0f} GB/s ({SAMPLES} samples)")
print(f"time per copy: P50 {np.median(seconds) * 1e6:.1f} us, P90 {np.percentile(seconds, 90) * 1e6:.1f} us")
