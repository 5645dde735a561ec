"""conv1d: device time of the kernel."""
import time

import numpy as np
import torch
import torch_npu  # noqa: F401

with torch.no_grad():
    for length in (128, 1024):
        conv = torch.nn.Conv1d(16, 16, 3).npu()
        x = torch.ones(4, 16, length).npu()
        for _ in range(10):
            conv(x)
        torch.npu.synchronize()
        us = np.empty(30)
        for i in range(30):
            t = time.perf_counter()
            for _ in range(10):
                conv(x)
                torch.npu.synchronize()
            us[i] = (time.perf_counter() - t) * 1e5
        print(f"conv1d kernel, (4, 16, {length}), float32, warm: p50 {np.median(us):.2f} us, p90 {np.percentile(us, 90):.2f} us")
