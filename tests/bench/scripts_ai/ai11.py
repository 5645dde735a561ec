"""cumsum with torch.utils.benchmark: typical time and tail of a call."""
import time

import numpy as np
import torch
import torch_npu
from torch.utils.benchmark import Timer

BLOCKS, CALLS = 30, 20
SHAPES = [(32, 512), (64, 512), (64, 1024)]


def ticks():
    torch.npu.synchronize()
    return time.perf_counter()


def microseconds(rows, cols):
    host = torch.randn(rows, cols, generator=torch.Generator().manual_seed(rows))
    x = host.npu()
    torch.testing.assert_close(torch.cumsum(x, 1).cpu(), torch.cumsum(host, 1), rtol=1e-3, atol=1e-3)
    timer = Timer(stmt="torch.cumsum(x, 1)", globals={"torch": torch, "x": x}, timer=ticks,
                  label="cumsum", description=f"{rows} x {cols}")
    for _ in range(4):
        timer.timeit(CALLS)
    measured = [timer.timeit(CALLS) for _ in range(BLOCKS)]
    return np.array([t for m in measured for t in m.times]) * 1e6


def main():
    print("torch.cumsum along rows, float32, the same input again (hot L2)")
    print(f"{BLOCKS} measurements by Timer.timeit({CALLS}), device idle at both ends of each")
    print(f"{'shape':>12} {'P50':>8} {'P90':>8} {'P99':>8}   us a call")
    tails = []
    for rows, cols in SHAPES:
        us = microseconds(rows, cols)
        p50, p90, p99 = np.percentile(us, [50, 90, 99])
        tails.append(p99 / p50)
        print(f"{rows:>5} x {cols:<4} {p50:>8.2f} {p90:>8.2f} {p99:>8.2f}")
    print(f"At these shapes 99 of 100 calls need no more than the last column: the tail is {max(tails):.2f} times the median at most.")


main()
