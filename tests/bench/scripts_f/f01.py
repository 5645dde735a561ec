"""Models zoo, memory bandwidth reached by each block."""
import numpy as np
import torch
import torch_npu

zoo = {
    "relu": torch.nn.ReLU(),
    "hardtanh": torch.nn.Hardtanh(),
    "leaky": torch.nn.LeakyReLU(0.25),
}
for rows in (256, 1024, 2048):
    x = torch.ones(rows, 4096).npu()
    for name, module in zoo.items():
        for _ in range(10):
            module(x)
        marks = [(torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)) for _ in range(40)]
        for a, b in marks:
            a.record()
            module(x)
            b.record()
        torch.npu.synchronize()
        us = np.array([1e3 * a.elapsed_time(b) for a, b in marks])
        p10, p50, p90 = np.percentile(2 * 4 * x.numel() / us / 1e3, [10, 50, 90])
        print(f"{name:9s} {rows:5d} x 4096: bandwidth P50 {p50:7.0f} GB/s (P10 {p10:.0f}, P90 {p90:.0f})")
