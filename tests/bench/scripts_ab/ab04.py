"""How fast do adds, one behind the other, go through data that the last level cache still holds?

The tensors below are read again and again and fit the L2 (192 MB on this card) with room to spare. That is the
question: it gives the best case for chains of small operators, where each reads what the one before wrote.
Not a statement about HBM.
"""
import numpy as np
import torch
import torch_npu

CALLS = 10        # a sample
SAMPLES = 25


class Span:
    def __init__(self):
        self.first = torch.npu.Event(enable_timing=True)
        self.last = torch.npu.Event(enable_timing=True)

    def __enter__(self):
        self.first.record()
        return self

    def __exit__(self, *_):
        self.last.record()

    def us(self):
        return self.first.elapsed_time(self.last) * 1e3


def gb_per_s(mib):
    n = mib * 2 ** 20 // 4
    x, out = torch.rand(n, device="npu"), torch.empty(n, device="npu")
    for _ in range(20):
        torch.add(x, 1.0, out=out)
    torch.npu.synchronize()
    spans = [Span() for _ in range(SAMPLES)]
    for span in spans:
        with span:
            for _ in range(CALLS):
                torch.add(x, 1.0, out=out)
    torch.npu.synchronize()
    assert torch.equal(out[:8].cpu(), x[:8].cpu() + 1.0)
    us = np.array([span.us() for span in spans]) / CALLS
    return 2 * 4 * n / us / 1e3            # one read, one write


print("L2-resident add, read + written bytes over device time (launch gaps included); hot on purpose, NOT HBM bandwidth")
print(f"{'MiB':>5} {'median GB/s':>12} {'p10':>8} {'p90':>8} {'n':>4}")
for mib in (4, 8, 16):
    rate = gb_per_s(mib)
    print(f"{mib:>5} {np.median(rate):>12.0f} {np.percentile(rate, 10):>8.0f} {np.percentile(rate, 90):>8.0f} {len(rate):>4}")
