import statistics
import time

import torch
import torch.nn.functional as F
import torch_npu

WINDOW_S = 0.0005
WINDOWS = 3
P = 0.1


def window(x):
    """Calls completed per second of a window: issue until the time is over, wait, divide."""
    torch.npu.synchronize()
    calls, start = 0, time.perf_counter()
    while time.perf_counter() - start < WINDOW_S:
        F.dropout(x, P, training=True)
        calls += 1
    torch.npu.synchronize()
    return calls / (time.perf_counter() - start), calls


def check(x):
    y = F.dropout(x, P, training=True).cpu()
    share = (y == 0).float().mean().item()
    assert abs(share - P) < 0.02, share
    kept = y != 0
    torch.testing.assert_close(y[kept], (x.cpu() / (1 - P))[kept], rtol=1e-3, atol=1e-3)


def main():
    print(f"dropout(p={P}) fp32, throughput over windows of {WINDOW_S * 1e3:.1f} ms, input hot in L2")
    for rows, cols in ((16, 256), (32, 256), (64, 256)):
        x = torch.randn(rows, cols, device="npu")
        rates, counts = zip(*(window(x) for _ in range(WINDOWS)))
        check(x)
        mean, spread = statistics.fmean(rates), statistics.stdev(rates)
        print(f"{rows:4d} x {cols:4d}: {mean / 1e3:8.2f} k calls/s +- {spread / 1e3:.2f} "
              f"({WINDOWS} windows, {min(counts)} to {max(counts)} calls each), "
              f"{mean * x.numel() / 1e9:.2f} G elements/s")


if __name__ == "__main__":
    main()
