"""Throughput of linear + bias: as many calls as fit into a fixed duration."""
import statistics
import time

import torch
import torch_npu
import torch.nn.functional as F

DURATION, CHUNK, WINDOWS = 0.001, 8, 7


def window(xs, w, b):
    """Calls finished per second in one window of at least DURATION seconds."""
    torch.npu.synchronize()
    done = 0
    begin = time.perf_counter()
    while True:
        for i in range(CHUNK):
            F.linear(xs[i % len(xs)], w, b)
        torch.npu.synchronize()
        done += CHUNK
        elapsed = time.perf_counter() - begin
        if elapsed >= DURATION:
            return done / elapsed


for rows, k, n in [(16, 128, 128), (64, 256, 256), (128, 512, 512)]:
    w = torch.randn(n, k, device="npu")
    b = torch.randn(n, device="npu")
    xs = [torch.randn(rows, k, device="npu") for _ in range(4)]
    torch.testing.assert_close(F.linear(xs[0], w, b).cpu(), F.linear(xs[0].cpu(), w.cpu(), b.cpu()),
                               rtol=1e-2, atol=1e-2)
    window(xs, w, b)
    rates = [window(xs, w, b) for _ in range(WINDOWS)]
    print(f"linear {rows} x {k} -> {n} with bias, fp32: {statistics.median(rates):,.0f} calls/s "
          f"(lowest {min(rates):,.0f}, highest {max(rates):,.0f}, {WINDOWS} windows), "
          f"{statistics.median(rates) * rows:,.0f} rows/s")
print(f"Calls finished on the device per second, in chunks of {CHUNK} calls with one wait after each chunk "
      "(the waits are in the figure); weight and inputs hot in L2.")
