import json
import sys

import torch
import torch.nn.functional as F
import torch_npu

SIZES = [(1024, 1536), (1024, 2048), (1536, 2048)]
N = 20

variants = {
    "gelu_erf": lambda t: F.gelu(t),
    "gelu_tanh": lambda t: F.gelu(t, approximate="tanh"),
}


def record(fn, t):
    a = torch.npu.Event(enable_timing=True)
    b = torch.npu.Event(enable_timing=True)
    a.record()
    fn(t)
    b.record()
    return a, b


report = {"device": "npu:0", "dtype": "float32", "l2": "warm (input reused)", "results": []}
for rows, cols in SIZES:
    t = torch.randn(rows, cols).npu()
    for fn in variants.values():
        for _ in range(10):
            fn(t)
    torch.npu.synchronize()
    marks = {name: [] for name in variants}
    for k in range(N):
        order = list(variants) if k % 2 == 0 else list(variants)[::-1]
        for name in order:
            marks[name].append(record(variants[name], t))
    torch.npu.synchronize()
    entry = {"shape": [rows, cols]}
    for name, pairs in marks.items():
        entry[name + "_us"] = round(sum(a.elapsed_time(b) for a, b in pairs) / N * 1e3, 3)
    entry["faster"] = min(variants, key=lambda name: entry[name + "_us"])
    entry["by_percent"] = round(100 * abs(entry["gelu_erf_us"] - entry["gelu_tanh_us"]) / entry["gelu_erf_us"], 2)
    report["results"].append(entry)

json.dump(report, sys.stdout, indent=2)
print()
