# right
"""Two ways to compute silu, in turn, in a drawn order."""

import random
import torch
import torch_npu
import numpy as np

random.seed(1)
x = torch.randn(1024, 1024).half().npu()
ways = {"two kernels": lambda: x * torch.sigmoid(x), "one kernel": lambda: torch.nn.functional.silu(x)}
for f in ways.values():
    for _ in range(20):
        f()
pairs = {name: [] for name in ways}
for _ in range(60):
    order = list(ways)
    random.shuffle(order)
    for name in order:
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        a.record()
        ways[name]()
        b.record()
        pairs[name].append((a, b))
torch.npu.synchronize()
t = {name: np.array([a.elapsed_time(b) for a, b in p]) for name, p in pairs.items()}
ratio = t["two kernels"] / t["one kernel"]
low, high = np.percentile([np.median(np.random.default_rng(i).choice(ratio, 60)) for i in range(200)], [2.5, 97.5])
print(f"1024x1024 half: speedup {np.median(ratio):.3f} [{low:.3f}, {high:.3f}]")
