"""Row sums: a report in markdown."""
import statistics
import time

import torch
import torch_npu

REPEATS, WARM = 40, 10
lines = ["# Reduction: `x.sum(-1)`", "",
         "Wall time of one call (launch and wait), fp32, four inputs in turn that stay in L2.", "",
         "| rows | columns | median us | p10 us | p90 us | n |",
         "|-----:|--------:|----------:|-------:|-------:|--:|"]

for rows, cols in [(64, 128), (256, 512), (1024, 512), (16, 16384)]:
    xs = [torch.randn(rows, cols, device="npu") for _ in range(4)]
    torch.testing.assert_close(xs[0].sum(-1).cpu(), xs[0].cpu().sum(-1), rtol=1e-3, atol=1e-2)
    for i in range(WARM):
        xs[i % 4].sum(-1)
    torch.npu.synchronize()
    us = []
    for i in range(REPEATS):
        x = xs[i % 4]
        torch.npu.synchronize()
        t0 = time.perf_counter()
        x.sum(-1)
        torch.npu.synchronize()
        us.append((time.perf_counter() - t0) * 1e6)
    q = statistics.quantiles(us, n=10)
    lines.append(f"| {rows} | {cols} | {statistics.median(us):.2f} | {q[0]:.2f} | {q[-1]:.2f} | {REPEATS} |")

lines += ["", "The time holds the host's launch and wait, which dominate for the small shapes; "
          "it is no measure of bandwidth, and other shapes were not measured."]
print("\n".join(lines))
