"""Softmax over attention scores, several widths."""
import time

import torch
import torch_npu

ROWS = 512
WIDTHS = (128, 256, 512, 1024)
ITERS, REPEATS = 4, 11


def buffers(width, count=3):
    return [torch.randn(ROWS, width, device="npu") for _ in range(count)]


def measure(width):
    xs = buffers(width)
    for x in xs:
        for _ in range(2):
            torch.softmax(x, dim=-1)
    torch.npu.synchronize()

    results = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(ITERS):
            for x in xs:
                torch.softmax(x, dim=-1)
        torch.npu.synchronize()
        stop = time.perf_counter()
        results.append((stop - start) / ITERS * 1e6)
    results.sort()
    return results


def main():
    torch.manual_seed(0)
    print(f"torch.softmax(x, -1), float32, {ROWS} rows, {REPEATS} repeats, data may sit in L2")
    print()
    print(f"{'width':>6} | {'us per call':>12} | {'min':>8} | {'max':>8} | {'Melem/s':>9}")
    print("-" * 56)
    for width in WIDTHS:
        r = measure(width)
        mid = r[len(r) // 2]
        print(f"{width:>6} | {mid:>12.2f} | {r[0]:>8.2f} | {r[-1]:>8.2f} | {ROWS * width / mid:>9.1f}")


if __name__ == "__main__":
    main()
