# lies: spread, order
import time
import torch
import torch_npu

WARMUP, ITERS = 10, 60


def time_it(fn):
    for _ in range(WARMUP):
        fn()
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(ITERS):
        fn()
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / ITERS * 1e3


def main():
    for rows, cols in [(128, 1024), (512, 1024)]:
        x = torch.randn(rows, cols, device="npu")
        naive = lambda: (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()
        fused = lambda: torch.nn.functional.layer_norm(x, (cols,))
        a, b = time_it(naive), time_it(fused)
        print(f"[{rows}, {cols}] naive {a:.4f} ms fused {b:.4f} ms speedup {a / b:.2f}x")


main()
