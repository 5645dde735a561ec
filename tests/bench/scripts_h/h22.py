"""Replay of a captured graph against single launches, in turn. ten relus of (n, 512)."""
import random
import numpy as np
import torch
import torch_npu

random.seed(2)
for n in (64, 1024):
    x = torch.ones(n, 512).npu()

    def launches():
        y = x
        for _ in range(10):
            y = torch.relu(y)

    launches()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        launches()
    sides = {"launches": launches, "replay": graph.replay}
    marks = []
    for i in range(33):
        for name in random.sample(list(sides), 2):
            a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            a.record()
            for _ in range(5):
                sides[name]()
            b.record()
            if i >= 3:
                marks.append((name, a, b))
    torch.npu.synchronize()
    us = {k: np.array([200 * a.elapsed_time(b) for name, a, b in marks if name == k]) for k in sides}
    r = us["launches"] / us["replay"]
    for k, v in us.items():
        print(f"({n}, 512) {k:9} P10/P50/P90 {np.percentile(v, [10, 50, 90]).round(2)} us, warm L2")
    print(f"speedup P50 {np.median(r):.3f}, P5 {np.percentile(r, 5):.3f}, P95 {np.percentile(r, 95):.3f}")
