"""Matmul rates for the sizing sheet, by labkit.bench, with a cold and with a warm L2.

Two floating point operations for each multiply-add. The rate is taken from the median time; P10 and P90 of the
samples stand beside it. Both states of the cache are given, as nobody could say which one the service will see.
Only the shapes in the table are claimed: they are small, and their rates are far below the peak of the card.
"""
import torch
import torch_npu

from labkit import bench

SHAPES = [(32, 128, 128), (64, 256, 128), (100, 200, 96)]


def row(m, k, n, cache):
    a = torch.randn(m, k).half().npu()
    b = torch.randn(k, n).half().npu()
    result = bench.measure(lambda: torch.matmul(a, b), name=f"{m}x{k}x{n}", cache=cache, least=100)
    us = torch.tensor(list(result.samples), dtype=torch.float64)
    p10, p50, p90 = torch.quantile(us, torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64)).tolist()
    gflops = 2 * m * k * n / (p50 * 1e-6) / 1e9
    return f"{m:4} {k:4} {n:4}  {cache:5} {p10:8.2f} {p50:8.2f} {p90:8.2f} {gflops:10.1f} {len(us):8}"


def main():
    torch.manual_seed(2)
    print("torch.matmul, float16 in and out, times in us")
    print("   m    k    n  L2         P10      P50      P90   GFLOP/s  samples")
    for m, k, n in SHAPES:
        for cache in ("cold", "warm"):
            print(row(m, k, n, cache))


if __name__ == "__main__":
    main()
