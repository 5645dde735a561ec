"""How much of the host's time does it cost to issue an operator? Nothing is waited for inside: the device is not measured."""
import time
import numpy as np
import torch
import torch_npu

for n in (16, 4096):
    x = torch.ones(n, 64).npu()
    for _ in range(20):
        torch.add(x, 1)
    torch.npu.synchronize()
    us = []
    for _ in range(40):
        t = time.perf_counter_ns()
        for _ in range(10):
            torch.add(x, 1)
        us.append((time.perf_counter_ns() - t) / 1e4)
        torch.npu.synchronize()
    print(f"add of ({n}, 64): host time to issue, P50 {np.median(us):.2f} us, P90 {np.quantile(us, 0.9):.2f} us a call")
