# Batches come out of a generator, go up to the device, and get an RMS norm there. Reported: the upload.
import statistics
import time
import torch
import torch_npu
import torch.nn.functional as F

FEATURES, KEEP, SKIP = 512, 40, 5


def batches(rows, count, seed):
    """A pinned tensor with new values each time (its pages may be recycled); random fill and pinning happen here, while no clock runs."""
    gen = torch.Generator().manual_seed(seed)
    for _ in range(count):
        yield torch.randn(rows, FEATURES, generator=gen).pin_memory()


def uploads(rows):
    """Yields (seconds of the copy, seconds of the norm, worst error of the norm) per batch."""
    landing = torch.empty(rows, FEATURES, device="npu")
    gain = torch.linspace(0.5, 1.5, FEATURES)
    gain_up = gain.npu()
    for host in batches(rows, SKIP + KEEP, rows):
        torch.npu.synchronize()
        a = time.perf_counter()
        landing.copy_(host, non_blocking=True)
        torch.npu.synchronize()
        b = time.perf_counter()
        y = F.rms_norm(landing, (FEATURES,), gain_up, 1e-6)
        torch.npu.synchronize()
        c = time.perf_counter()
        want = F.rms_norm(host.double(), (FEATURES,), gain.double(), 1e-6)
        yield b - a, c - b, (y.cpu().double() - want).abs().max().item()


def spread(seconds):
    q1, q2, q3 = statistics.quantiles(seconds, n=4)
    return f"{q2 * 1e6:.1f} us (q1 {q1 * 1e6:.1f}, q3 {q3 * 1e6:.1f}, max {max(seconds) * 1e6:.1f})", q2


for rows in (32, 256, 1024):
    stream = uploads(rows)
    for _ in range(SKIP):
        next(stream)                  # buffers, first launches
    copy, norm, errors = zip(*stream)
    assert len(copy) == KEEP
    assert max(errors) < 1e-4         # a stale or late copy would show up here
    mb = rows * FEATURES * 4 / 1e6
    said, median = spread(copy)
    print(f"host->device, {mb:5.2f} MB, pinned, other values each time: {said} -> {mb / 1e3 / median:.2f} GB/s at the median")
    print(f"    separately, rms_norm on what has just landed: {spread(norm)[0]}; worst error against float64 {max(errors):.0e}")
print(f"{KEEP} batches per size, the {SKIP} before them not recorded. A copy counts until the host has seen it finish, so the small")
print("sizes carry mostly call and wait, I suppose: do not take their GB/s for the speed of the link. Sources had just been")
print("written by the CPU and may sit in its caches. Overlap of upload and norm is not attempted here, and pageable memory was not measured.")
