"""Softmax by rows; quartiles of 21 samples."""
import math
import time
import numpy as np
import torch
import torch_npu

def millis():
    return math.floor(time.time() * 1000)

for rows in (64, 2048):
    x = torch.ones(rows, 1000).npu()
    for _ in range(5):
        torch.softmax(x, 1)
    ms = []
    for _ in range(21):
        torch.npu.synchronize()
        t = millis()
        for _ in range(100):
            torch.softmax(x, 1)
        torch.npu.synchronize()
        ms.append(millis() - t)
    print(f"softmax {rows}x1000: {np.percentile(ms, [25, 50, 75])} ms for a hundred, warm L2")
