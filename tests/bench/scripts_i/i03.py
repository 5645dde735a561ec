"""Forward pass of a projection, by width: percentiles over 15 samples of 4 calls."""
import time
import numpy as np
import torch
import torch_npu

def forward(x):
    layer = torch.nn.Linear(x.shape[1], x.shape[1], device="npu")
    with torch.no_grad():
        return layer(x)

for width in (128, 1024):
    x = torch.ones(256, width).npu()
    for _ in range(3):
        forward(x)
    t = np.zeros(15)
    for i in range(15):
        torch.npu.synchronize()
        a = time.perf_counter()
        for _ in range(4):
            forward(x)
        torch.npu.synchronize()
        t[i] = (time.perf_counter() - a) / 4 * 1e6
    print(f"256 x {width}: P50 {np.median(t):.1f} us, P90 {np.percentile(t, 90):.1f} us")
