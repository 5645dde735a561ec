"""Graph replay: device time of ten layers, in milliseconds, by size; median and range of 15 samples."""
import time
import numpy as np
import torch
import torch_npu

def chain(x):
    for _ in range(10):
        x = torch.relu(x)
    return x

for n in (128, 1024):
    x = torch.ones(n, 256).npu()
    chain(x)
    torch.npu.synchronize()
    ms = []
    for _ in range(15):
        begin = time.perf_counter()
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            y = chain(x)
        for _ in range(50):
            graph.replay()
        torch.npu.synchronize()
        ms.append(1e3 * (time.perf_counter() - begin) / 50)
    print(f"({n}, 256): median {np.median(ms):.4f} ms, {np.min(ms):.4f} to {np.max(ms):.4f}")
