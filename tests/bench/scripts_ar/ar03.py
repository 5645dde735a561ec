"""SwiGLU gate written in two ways; JSON on stdout.

Inputs rotate through a pool that stays in L2: the gate follows a matmul in the
model and reads what was just written, so a hot cache is the case of interest.
"""
import json
import time

import torch
import torch.nn.functional as F
import torch_npu

device = torch.device("npu")


def gate_silu(a, b):
    return F.silu(a) * b


def gate_sigmoid(a, b):
    return a * torch.sigmoid(a) * b


def sample(fn, pool, inner=8):
    torch.npu.synchronize()
    start = time.perf_counter_ns()
    for i in range(inner):
        fn(*pool[i % len(pool)])
    torch.npu.synchronize()
    return (time.perf_counter_ns() - start) / inner / 1e3


def pct(values, p):
    values = sorted(values)
    return round(values[min(len(values) - 1, int(p / 100 * len(values)))], 2)


candidates = {"silu(a)*b": gate_silu, "a*sigmoid(a)*b": gate_sigmoid}
doc = {
    "what": "SwiGLU gate, fp32, forward only, time per call incl. host issue; 8 calls per wait",
    "unit": "us", "cache": "hot (4 input pairs in L2)", "rounds": 20, "results": [],
}
for tokens, width in [(128, 1024), (512, 1024), (512, 2048)]:
    pool = [(torch.randn(tokens, width, device=device), torch.randn(tokens, width, device=device))
            for _ in range(4)]
    ref = gate_silu(*pool[0])
    diff = (ref - gate_sigmoid(*pool[0])).abs().max().item()
    assert diff < 1e-4, diff
    for fn in candidates.values():
        for _ in range(3):
            sample(fn, pool)
    times = {name: [] for name in candidates}
    for r in range(doc["rounds"]):
        order = list(candidates) if r % 2 else list(candidates)[::-1]
        for name in order:
            times[name].append(sample(candidates[name], pool))
    for name, t in times.items():
        doc["results"].append({"candidate": name, "tokens": tokens, "width": width, "n": len(t),
                               "p10": pct(t, 10), "p50": pct(t, 50), "p90": pct(t, 90),
                               "max_abs_diff": diff})
print(json.dumps(doc, indent=1))
