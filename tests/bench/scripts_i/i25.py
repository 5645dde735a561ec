"""Generator of samples, until two seconds of the host or 30 samples are over; median absolute deviation is given."""
import statistics
import time
import torch
import torch_npu

def laps(f, calls=16, most=30, seconds=2.0):
    stop = time.monotonic() + seconds
    for _ in range(3 * calls):
        f()
    while most and time.monotonic() < stop:
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        a.record()
        for _ in range(calls):
            f()
        b.record()
        b.synchronize()
        yield a.elapsed_time(b) / calls * 1e3
        most -= 1

for n in (33, 1025):
    x = torch.ones(n, 257, device="npu")
    us = list(laps(lambda: torch.argsort(x, dim=0)))
    mid = statistics.median(us)
    mad = statistics.median(abs(u - mid) for u in us)
    print(f"argsort {n} x 257 along 0: {mid:.2f} +- {mad:.2f} us (MAD of {len(us)}), warm L2")
