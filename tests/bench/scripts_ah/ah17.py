import time
from contextlib import contextmanager

import numpy as np
import torch
import torch_npu


@contextmanager
def stopwatch(sink, calls):
    torch.npu.synchronize()
    began = time.perf_counter()
    yield range(calls)
    torch.npu.synchronize()
    sink.append((time.perf_counter() - began) / calls)


@contextmanager
def section(title):
    print(title)
    print("-" * len(title))
    yield
    print()


ROWS, COLS = 256, 512
torch.manual_seed(14)
host = torch.randn(ROWS, COLS)
x = host.npu()

with section("Correctness"):
    worst = (torch.softmax(x, -1).cpu() - torch.softmax(host, -1)).abs().max().item()
    print(f"largest difference to the CPU {worst:.1e}")
    assert worst < 1e-5

with section("Time"):
    warm, seconds = [], []
    for _ in range(5):
        with stopwatch(warm, 20) as calls:
            for _ in calls:
                torch.softmax(x, -1)
    for _ in range(40):
        with stopwatch(seconds, 20) as calls:
            for _ in calls:
                torch.softmax(x, -1)
    us = np.array(seconds) * 1e6
    rate = 2 * host.nbytes / us / 1e3
    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    print(f"40 bursts of 20 calls, one wait a burst, float32, operands hot in the L2")
    print(f"us a call: P10 {p10:.2f}  P50 {p50:.2f}  P90 {p90:.2f}")

with section("Result"):
    print(f"torch.softmax moves {np.median(rate):.0f} GB/s (P10 {np.percentile(rate, 10):.0f}, P90 {np.percentile(rate, 90):.0f}) on this device.")
    print("Plan with this rate for the softmax of any attention layer: the time of a call is its bytes over the rate,")
    print("for short rows as for long ones, in prefill as in decoding.")
