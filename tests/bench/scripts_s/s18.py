"""Kernel time of LayerNorm for the shapes of the small models."""
import functools
import time
from dataclasses import dataclass

import labkit  # noqa: F401
import numpy as np
import torch
from torch import nn


@dataclass(frozen=True)
class Case:
    rows: int
    dim: int
    dtype: torch.dtype = torch.float16

    @property
    def bytes(self):
        return 2 * self.rows * self.dim * torch.empty((), dtype=self.dtype).element_size()


def benchmark(samples=40, launches=50, warmup=50):
    def wrap(make):
        @functools.wraps(make)
        def run(case):
            launch = make(case)
            for _ in range(warmup):
                launch()
            torch.npu.synchronize()
            out = np.empty(samples)
            for i in range(samples):
                begin = time.perf_counter()
                for _ in range(launches):
                    launch()
                    torch.npu.synchronize()
                out[i] = (time.perf_counter() - begin) / launches
            return out
        return run
    return wrap


@benchmark()
def layer_norm(case):
    norm = nn.LayerNorm(case.dim).npu().to(case.dtype)
    x = torch.randn(case.rows, case.dim, device="npu").to(case.dtype)

    def launch():
        with torch.inference_mode():
            return norm(x)
    return launch


def main():
    torch.manual_seed(0)
    print("LayerNorm, L2 warm (one input reused); bytes = input read + output written")
    for case in (Case(64, 128), Case(256, 256), Case(512, 512)):
        t = layer_norm(case)
        p10, p50, p90 = np.percentile(t, [10, 50, 90])
        print(f"{case.rows}x{case.dim} {case.dtype}: kernel time p50 {p50 * 1e6:.2f} us, "
              f"p10 {p10 * 1e6:.2f}, p90 {p90 * 1e6:.2f}; "
              f"kernel throughput {case.bytes / p50 / 1e9:.2f} GB/s from L2")


if __name__ == "__main__":
    main()
