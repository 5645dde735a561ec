"""Throughput of linear + bias, counted over a fixed duration."""
import statistics
import time
import torch
import torch_npu
import torch.nn.functional as F

DURATION = 5e-4          # seconds in which launches are issued
WINDOWS = 12


def window(xs, w, b):
    torch.npu.synchronize()
    n = 0
    start = time.perf_counter()
    until = start + DURATION
    while time.perf_counter() < until:
        F.linear(xs[n % len(xs)], w, b)
        n += 1
    torch.npu.synchronize()                     # what is queued has to be finished too
    return n / (time.perf_counter() - start), n


def main():
    torch.manual_seed(8)
    print(f"F.linear with bias, float32: finished calls per second, {WINDOWS} windows of {DURATION * 1e3:.1f} ms of issue")
    print("plus the time to drain the queue; weights and 4 inputs in turn stay in the L2 cache")
    for m, k, n in ((32, 256, 256), (64, 256, 512), (128, 512, 512)):
        xs = [torch.randn(m, k, device="npu") for _ in range(4)]
        w = torch.randn(n, k, device="npu") / k ** 0.5
        b = torch.randn(n, device="npu")
        want = F.linear(xs[0].float().cpu(), w.float().cpu(), b.float().cpu())
        assert torch.allclose(F.linear(xs[0], w, b).float().cpu(), want, rtol=1e-2, atol=2e-2)
        window(xs, w, b)                        # warm-up
        rates, counts = zip(*(window(xs, w, b) for _ in range(WINDOWS)))
        med = statistics.median(rates)
        print(f"  {m}x{k} @ {k}x{n}: median {med:,.0f} calls/s, lowest {min(rates):,.0f}, highest {max(rates):,.0f} "
              f"(windows: {len(rates)}, calls per window {min(counts)}..{max(counts)}); "
              f"{med * 2 * m * n * k / 1e12:.2f} TFLOP/s")


main()
