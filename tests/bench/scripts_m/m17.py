import json
import statistics

import torch
import torch_npu  # noqa: F401


def bandwidth(numel, rounds=20, calls=20):
    src = torch.ones(numel, device="npu")
    dst = torch.empty(numel, device="npu")
    for _ in range(5):
        dst.copy_(src)
    torch.npu.synchronize()
    gbs = []
    for _ in range(rounds):
        t0 = torch.npu.Event(enable_timing=True)
        t1 = torch.npu.Event(enable_timing=True)
        t0.record()
        for _ in range(calls):
            dst.copy_(src)
        t1.record()
        torch.npu.synchronize()
        gbs.append(2 * 4 * numel * calls / (t0.elapsed_time(t1) * 1e-3) / 1e9)
    return gbs


report = []
for numel in (1 << 18, 1 << 19, 1 << 20):
    g = bandwidth(numel)
    lo, mid, hi = statistics.quantiles(g, n=4)
    report.append({"floats": numel, "HBM GB/s": {"p25": round(lo), "p50": round(mid), "p75": round(hi)}})
print(json.dumps({"device": "npu", "test": "HBM bandwidth by copy_", "rows": report}, indent=2))
