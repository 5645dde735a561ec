"""Matmul rate for each dtype we might serve in."""
import logging
import statistics
import time

import torch
import torch_npu

log = logging.getLogger("dtype-sweep")
logging.basicConfig(level=logging.INFO, format="%(name)s | %(message)s")

SIZES = (64, 128)
DTYPES = (torch.float32, torch.float16, torch.bfloat16)
TARGET_S = 0.008
REPEATS = 7


def timed(a, b, count):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(count):
        torch.matmul(a, b)
    torch.npu.synchronize()
    return time.perf_counter() - t0


def pick_count(a, b):
    """Calls that fill about TARGET_S, so that a short dtype is not drowned by the clock."""
    timed(a, b, 3)
    guess = timed(a, b, 3) / 3
    return min(40, max(3, round(TARGET_S / guess)))


def main():
    torch.manual_seed(0)
    log.info("square matmul, %s", torch.npu.get_device_name(0))
    for n in SIZES:
        for dtype in DTYPES:
            a = torch.randn(n, n).to(dtype).npu()
            b = torch.randn(n, n).to(dtype).npu()
            count = pick_count(a, b)
            timed(a, b, count)
            laps = [timed(a, b, count) / count for _ in range(REPEATS)]
            rates = sorted(2 * n ** 3 / s / 1e9 for s in laps)
            log.info("n=%d %-8s %4d calls x %d loops: median %.3f GFLOP/s (%.3f to %.3f)", n,
                     str(dtype).removeprefix("torch."), count, REPEATS, statistics.median(rates), rates[0], rates[-1])
    log.info("each dtype runs its own number of calls (3 to 40, aimed at %.0f ms a loop) and is divided by that number", TARGET_S * 1e3)
    log.info("one wait behind each loop; wall clock, so at these sizes the host's part is in every rate")
    log.info("these rates hold for n=%s only and say nothing about the peak of the cube unit", " and ".join(map(str, SIZES)))


main()
