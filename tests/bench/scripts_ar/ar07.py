"""Linear layer with bias: kernel latency by size."""
import time
from contextlib import contextmanager

import torch
import torch.nn.functional as F
import torch_npu

dev = "npu"


class Clock:
    def __init__(self):
        self.us = []

    @contextmanager
    def lap(self):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        yield
        torch.npu.synchronize()
        self.us.append((time.perf_counter() - t0) * 1e6)

    def summary(self):
        s = sorted(self.us)
        n = len(s)
        return f"p50 {s[n // 2]:9.2f} us, p10 {s[n // 10]:9.2f}, p90 {s[n * 9 // 10]:9.2f} (n={n})"


def bench(batch, d_in, d_out, rounds=20, warmup=5):
    w = torch.randn(d_out, d_in).half().to(dev)
    b = torch.randn(d_out).half().to(dev)
    clock = Clock()
    for r in range(rounds + warmup):
        if r == warmup:
            clock.us.clear()
        with clock.lap():
            x = torch.randn(batch, d_in).half().to(dev)
            F.linear(x, w, b)
    return clock


if __name__ == "__main__":
    print("F.linear with bias, fp16, a new x each time, weights hot in L2")
    for shape in [(32, 512, 512), (128, 512, 1024), (256, 1024, 1024)]:
        c = bench(*shape)
        print(f"  linear+bias batch {shape[0]:4d}, {shape[1]} -> {shape[2]}: {c.summary()} per call of the operator")
