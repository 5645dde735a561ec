"""What does it cost the HOST to issue an operator?

The clock is stopped as soon as the calls have returned. That is the quantity: Python, dispatcher and launch, the
part that makes a model host-bound. The device runs behind; how long it takes is neither measured nor claimed.
The queue is drained between two samples, outside the clock, so that no sample waits for a full queue.
"""
import time
from collections import namedtuple

import numpy as np
import torch
import torch_npu

BURST, SAMPLES = 16, 60
Row = namedtuple("Row", "operator p10 p50 p90 n")


def issue_us(call):
    for _ in range(5 * BURST):
        call()
    torch.npu.synchronize()
    samples = np.empty(SAMPLES)
    for i in range(SAMPLES):
        begin = time.perf_counter()
        for _ in range(BURST):
            call()
        samples[i] = time.perf_counter() - begin
        torch.npu.synchronize()
    return 1e6 * samples / BURST


def main():
    x = torch.randn(32, 64, device="npu")
    y = torch.randn(32, 64, device="npu")
    w = torch.randn(64, 64, device="npu")
    out = torch.empty_like(x)
    calls = {
        "add, out given": lambda: torch.add(x, y, out=out),
        "add, new result": lambda: torch.add(x, y),
        "relu_ in place": lambda: out.relu_(),
        "mm": lambda: torch.mm(x, w),
        "softmax": lambda: torch.softmax(x, -1),
    }
    rows = []
    for name, call in calls.items():
        us = issue_us(call)
        rows.append(Row(name, *np.percentile(us, (10, 50, 90)), len(us)))
    print(f"host time to issue one call (device NOT waited for, not a kernel time), (32, 64) float32, bursts of {BURST}")
    for row in rows:
        print(f"  {row.operator:<16} {row.p50:7.2f} us   [p10 {row.p10:.2f}, p90 {row.p90:.2f}]   n={row.n}")


if __name__ == "__main__":
    main()
