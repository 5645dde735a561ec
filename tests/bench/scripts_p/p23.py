"""gelu: latencies for the dashboard."""
import json
import statistics
import time

import torch
import torch_npu  # noqa: F401


def stamp():
    return int(time.time() * 1000)


out = {}
for n in (1024, 8192):
    x = torch.ones(n, 512).npu()
    for _ in range(10):
        torch.nn.functional.gelu(x)
    samples = []
    for _ in range(40):
        torch.npu.synchronize()
        t = stamp()
        for _ in range(50):
            torch.nn.functional.gelu(x)
        torch.npu.synchronize()
        samples.append((stamp() - t) / 50)
    out[f"gelu [{n}, 512] fp32, warm"] = {"median_ms": statistics.median(samples), "stdev_ms": statistics.stdev(samples)}
print(json.dumps(out))
