import argparse
import csv
import sys
import statistics as st
import torch
import torch_npu

p = argparse.ArgumentParser()
p.add_argument("--warmup", type=int, default=0)
p.add_argument("--iters", type=int, default=40)
p.add_argument("--sizes", type=int, nargs="*", default=[128, 1000, 3000])
a = p.parse_args()

out = csv.writer(sys.stdout)
out.writerow(["op", "n", "p25", "p50", "p75", "max"])
for n in a.sizes:
    x = torch.full((n, 256), 0.5).npu()
    for _ in range(a.warmup):
        torch.softmax(x, -1)
    torch.npu.synchronize()
    ev = []
    for _ in range(a.iters):
        s, e = (torch.npu.Event(enable_timing=True) for _ in range(2))
        s.record()
        torch.softmax(x, -1)
        e.record()
        ev.append((s, e))
    torch.npu.synchronize()
    us = [s.elapsed_time(e) * 1e3 for s, e in ev]
    out.writerow(["softmax", n, *[round(q, 2) for q in st.quantiles(us, n=4)], round(max(us), 2)])
