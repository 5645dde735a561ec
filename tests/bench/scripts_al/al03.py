"""How fast does a batch of frames get to the card? Bandwidth of the host-to-device copy from pinned memory.

Measures until the copy is steady: the last WINDOW samples lie within 3 % of their median. The figures are of that last
window; the number of samples it took, and the slowest of all, are printed as well.
"""
import time

import numpy as np
import torch
import torch_npu

WINDOW, LIMIT, TOLERANCE = 15, 120, 0.03
rng = np.random.default_rng(0)


def batches(frames, side):
    """Camera frames, as the decoder leaves them: bytes, in a ring."""
    return [rng.integers(0, 256, (frames, 3, side, side), dtype=np.uint8) for _ in range(4)]


def until_steady(copy_one):
    samples = []
    while len(samples) < LIMIT:
        samples.append(copy_one(len(samples)))
        last = np.array(samples[-WINDOW:])
        if len(last) == WINDOW:
            middle = np.median(last)
            if np.abs(last - middle).max() <= TOLERANCE * middle:
                return last, samples, True
    return np.array(samples[-WINDOW:]), samples, False


def bench(frames, side):
    ring = batches(frames, side)
    target = torch.empty(frames, 3, side, side, dtype=torch.float32, device="npu")
    nbytes = target.numel() * target.element_size()

    def copy_one(i):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        pinned = torch.from_numpy(ring[i % len(ring)]).float().div_(255.0).pin_memory()
        target.copy_(pinned, non_blocking=True)
        torch.npu.synchronize()
        return time.perf_counter() - t0

    for i in range(5):
        copy_one(i)
    window, samples, steady = until_steady(copy_one)
    expect = torch.from_numpy(ring[(len(samples) - 1) % len(ring)]).float() / 255.0
    assert torch.allclose(target.cpu(), expect)

    low, mid, high = np.percentile(nbytes / window / 1e9, [10, 50, 90])
    state = "steady" if steady else "NOT steady"
    print(f"{frames:3d} frames of {side:3d}^2  {nbytes / 2**20:7.2f} MiB   {mid:6.2f} GB/s "
          f"(p10 {low:.2f}, p90 {high:.2f}; {state} after {len(samples)} samples,"
          f" slowest of all {nbytes / max(samples) / 1e9:.2f})")


print("host to device, pinned memory, float32: bandwidth of the copy")
for shape in ((4, 64), (8, 128), (16, 224), (32, 224)):
    bench(*shape)
