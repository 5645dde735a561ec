# Latency of small elementwise additions (residual connections of a decode step), as percentiles.
import argparse
import time

import numpy as np
import torch
import torch_npu  # noqa: F401

parser = argparse.ArgumentParser()
parser.add_argument("--hidden", type=int, nargs="+", default=[1024, 2048, 4096])
parser.add_argument("--samples", type=int, default=300)
options = parser.parse_args()


class Residual:
    def __init__(self, hidden):
        self.a = torch.ones(8, hidden, dtype=torch.bfloat16).npu()
        self.b = torch.ones(8, hidden, dtype=torch.bfloat16).npu()

    def __call__(self):
        return torch.add(self.a, self.b)


def kernel_times(step, samples):
    for _ in range(50):
        step()
    torch.npu.synchronize()
    times = np.empty(samples)
    for i in range(samples):
        t0 = time.perf_counter()
        step()
        torch.npu.synchronize()
        times[i] = time.perf_counter() - t0
    return times * 1e6


print(f"add kernel, bf16, operands warm in L2, {options.samples} samples after 50 warm-up calls")
for hidden in options.hidden:
    us = kernel_times(Residual(hidden), options.samples)
    p50, p90, p99 = np.percentile(us, (50, 90, 99))
    print(f"(8, {hidden}): the kernel takes P50 {p50:.2f} us  P90 {p90:.2f} us  P99 {p99:.2f} us")
