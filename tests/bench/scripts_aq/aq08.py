"""torch.sort along the last dimension, summarised with the statistics module."""
import statistics as st
import time

import torch
import torch_npu

N = 40
torch.manual_seed(3)


def one(x):
    torch.npu.synchronize()
    t0 = time.perf_counter_ns()
    values, order = torch.sort(x, dim=-1)
    torch.npu.synchronize()
    return (time.perf_counter_ns() - t0) / 1e3


for rows, cols in [(16, 256), (64, 1024), (128, 2048)]:
    pool = [torch.randn(rows, cols, device="npu") for _ in range(8)]
    values, order = torch.sort(pool[0], dim=-1)
    assert torch.equal(values.cpu(), pool[0].cpu().sort(-1).values)
    assert torch.equal(pool[0].gather(-1, order).cpu(), values.cpu())
    for x in pool:
        one(x)
    us = [one(pool[i % 8]) for i in range(N)]
    dec = st.quantiles(us, n=10)
    print(f"sort {rows} x {cols} fp32 (unsorted normal data, hot in L2): "
          f"median {st.median(us):.2f} us, p10 {dec[0]:.2f}, p90 {dec[-1]:.2f}, "
          f"stdev {st.stdev(us):.3f} us, n={N}")
print("Time of one call with its wait, as the host sees it; values and indices are both made.")
