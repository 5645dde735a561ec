"""What a forward costs the Python thread: the price of issuing, not of running."""
import time

import labkit  # noqa: F401
import numpy as np
import torch
from torch import nn


def tower(depth, width):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.LayerNorm(width), nn.SiLU()]
    return nn.Sequential(*layers)


class HostCost:
    """Issues a few forwards into an empty queue; the queue is drained outside the clock."""

    def __init__(self, in_flight=4):
        self.in_flight = in_flight
        self.wall, self.cpu = [], []

    def sample(self, module, x):
        torch.npu.synchronize()
        c0, t0 = time.thread_time_ns(), time.perf_counter_ns()
        for _ in range(self.in_flight):
            module(x)
        t1, c1 = time.perf_counter_ns(), time.thread_time_ns()
        torch.npu.synchronize()
        self.wall.append((t1 - t0) / self.in_flight / 1e3)
        self.cpu.append((c1 - c0) / self.in_flight / 1e3)


@torch.inference_mode()
def main(width=64, batch=8, warmup=20, repeats=100):
    torch.manual_seed(0)
    print("HOST cost of issuing one forward (the device's time is on purpose not in it; "
          f"do not read it as latency). batch={batch} width={width} float32")
    for depth in (1, 4, 16):
        module = tower(depth, width).npu().eval()
        x = torch.randn(batch, width, device="npu")
        for _ in range(warmup):
            module(x)
        cost = HostCost()
        for _ in range(repeats):
            cost.sample(module, x)
        launches = 3 * depth
        for name, values in (("wall of issuing thread", cost.wall), ("CPU of issuing thread", cost.cpu)):
            lo, mid, hi = np.percentile(values, [10, 50, 90])
            print(f"depth={depth:2d} ({launches:2d} modules) {name}: p50 {mid:8.1f} us per forward, "
                  f"p10 {lo:.1f}, p90 {hi:.1f}; {mid / launches:.2f} us per module")


main()
