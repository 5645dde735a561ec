"""Kernel times of the small operators in our decoder (batch 1..16, hidden 1024)."""
import time
from dataclasses import dataclass
from functools import wraps

import numpy as np
import torch
import torch_npu

DEV = torch.device("npu")
WARM, COUNT = 30, 120


@dataclass(frozen=True)
class KernelTime:
    kernel: str
    rows: int
    us: np.ndarray

    def line(self):
        p10, p50, p90 = np.percentile(self.us, (10, 50, 90))
        return f"{self.kernel:<10} {self.rows:>5} x 1024   {p50:7.2f}   [{p10:6.2f}, {p90:6.2f}]   n={len(self.us)}"


TABLE = []


def kernel(make):
    """Registers the time of the kernel which `make(rows)` returns."""
    @wraps(make)
    def run(rows):
        body = make(rows)
        stream = torch.npu.current_stream()
        for _ in range(WARM):
            body()
        stream.synchronize()
        laps = np.empty(COUNT, dtype=np.int64)
        for i in range(COUNT):
            t0 = time.perf_counter_ns()
            body()
            stream.synchronize()
            laps[i] = time.perf_counter_ns() - t0
        TABLE.append(KernelTime(make.__name__, rows, laps / 1e3))
    return run


@kernel
def rms_norm(rows):
    x, g = torch.randn(rows, 1024, device=DEV), torch.ones(1024, device=DEV)
    return lambda: torch_npu.npu_rms_norm(x, g, 1e-6)


@kernel
def silu(rows):
    x = torch.randn(rows, 1024, device=DEV)
    return lambda: torch.nn.functional.silu(x)


@kernel
def residual(rows):
    x, y = torch.randn(rows, 1024, device=DEV), torch.randn(rows, 1024, device=DEV)
    return lambda: torch.add(x, y)


for rows in (1, 4, 16):
    for bench in (rms_norm, silu, residual):
        bench(rows)

print("kernel time on the NPU, float32, input re-used (L2 warm), us: median [p10, p90]")
for entry in TABLE:
    print(entry.line())
