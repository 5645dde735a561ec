"""Copy bandwidth of device memory with buffers that have left the L2."""
import collections
import time

import torch
import torch_npu

MIB = 96
PAIRS = 3
ELEMENTS = MIB * 2**20 // 4

l2 = torch.npu.get_device_properties(0).L2_cache_size
buffers = [torch.full((ELEMENTS,), float(i), device="npu") for i in range(2 * PAIRS)]
between = (2 * PAIRS - 2) * MIB * 2**20
ring = collections.deque(range(PAIRS))
taken = collections.deque(maxlen=24)


def sample():
    i = ring[0]
    ring.rotate(-1)
    source, target = buffers[2 * i], buffers[2 * i + 1]
    t = time.perf_counter()
    target.copy_(source)
    torch.npu.synchronize()
    return i, time.perf_counter() - t


for _ in range(PAIRS):
    sample()

print(f"[copybw] {PAIRS} pairs of {MIB} MiB in turn; {between / 2**20:.0f} MiB of other traffic pass before a pair comes again, L2 holds {l2 / 2**20:.0f} MiB")
print("[copybw] a sample is copy_ plus the synchronize() behind it; what the wait itself takes is part of it")
for number in range(taken.maxlen):
    pair, s = sample()
    taken.append(s)
    print(f"[copybw] sample={number:02d} pair={pair} us={s * 1e6:.1f}")
ordered = sorted(taken)
p50 = (ordered[len(ordered) // 2 - 1] + ordered[len(ordered) // 2]) / 2
moved = 2 * MIB * 2**20
print(f"[copybw] summary n={len(ordered)} p50_us={p50 * 1e6:.1f} fastest_us={ordered[0] * 1e6:.1f} slowest_us={ordered[-1] * 1e6:.1f}")
print(f"[copybw] summary read+write GB/s at p50: {moved / p50 / 1e9:.1f} ({MIB} MiB read and {MIB} MiB written per copy, 1e9 bytes to a GB)")
