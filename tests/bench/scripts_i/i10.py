"""Means of 30 samples go to a CSV table and to JSON."""
import csv
import json
import sys
import torch
import torch_npu

out = csv.DictWriter(sys.stdout, ["op", "shape", "us"])
out.writeheader()
result = {}
for n in (128, 2000):
    x = torch.ones(n, 300).npu()
    ops = {"topk": lambda: torch.topk(x, 5), "std": lambda: torch.std(x, 1)}
    for name, f in ops.items():
        for _ in range(5):
            f()
        total, k = 0.0, 30
        pairs = []
        for _ in range(k):
            s, e = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            s.record()
            f()
            e.record()
            pairs.append((s, e))
        torch.npu.synchronize()
        for s, e in pairs:
            total += s.elapsed_time(e)
        result[f"{name}_{n}x300"] = total / k * 1e3
        out.writerow({"op": name, "shape": f"{n}x300", "us": f"{total / k * 1e3:.3f}"})
print(json.dumps(result))
