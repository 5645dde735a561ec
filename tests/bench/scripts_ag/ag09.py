import labkit
import statistics

import torch

SAMPLES = 40
WARM = 10


def prepare(batch, size):
    a = torch.randn(batch, size, size, device="npu")
    b = torch.randn(batch, size, size, device="npu")
    for t in (a, b):
        t.to(torch.bfloat16)
    return a, b


def timed(batch, size):
    a, b = prepare(batch, size)
    for _ in range(WARM):
        torch.bmm(a, b)
    torch.npu.synchronize()
    starts = [torch.npu.Event(enable_timing=True) for _ in range(SAMPLES)]
    ends = [torch.npu.Event(enable_timing=True) for _ in range(SAMPLES)]
    for start, end in zip(starts, ends):
        start.record()
        torch.bmm(a, b)
        end.record()
    torch.npu.synchronize()
    return [s.elapsed_time(e) * 1e3 for s, e in zip(starts, ends)]


print("bmm, bfloat16, device time from events, operands warm in L2")
rates = {}
for batch, size in ((16, 256), (64, 128), (8, 384)):
    us = timed(batch, size)
    q1, mid, q3 = statistics.quantiles(us, n=4)
    flop = 2 * batch * size**3
    rates[batch, size] = flop / mid / 1e6
    print(f"  {batch:3} x {size} x {size} x {size}: median {mid:6.1f} us (quartiles {q1:.1f}, {q3:.1f}; n={len(us)}) "
          f"= {rates[batch, size]:.1f} TFLOP/s")
low, high = min(rates.values()), max(rates.values())
print(f"On these three shapes bf16 bmm reaches {low:.1f} to {high:.1f} TFLOP/s on {torch.npu.get_device_name(0)}.")
