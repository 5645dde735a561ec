"""Speed of the convolution of the NPU. Percentiles of forty samples, warm L2."""
from torch.utils.benchmark import Timer
import numpy as np
import torch
import torch_npu

conv = torch.nn.Conv2d(24, 24, 3, padding=1).npu().eval()
x = torch.ones(5, 24, 40, 40).npu()
with torch.no_grad():
    timer = Timer("conv(x)", globals={"conv": conv, "x": x})
    timer.timeit(20)
    us = [timer.timeit(10).mean * 1e6 for _ in range(25)]
print("a convolution takes", np.percentile(us, [10, 50, 90]).round(1), "us")
