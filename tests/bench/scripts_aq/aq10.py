"""Softmax over the last dimension. Usage: aq10.py [--dtype float16] [--repeats 40]"""
import argparse
import time

import torch
import torch_npu

parser = argparse.ArgumentParser()
parser.add_argument("--dtype", default="float16", choices=["float16", "float32"])
parser.add_argument("--repeats", type=int, default=40)
parser.add_argument("--warm", type=int, default=10)
parser.add_argument("--shapes", default="64x128,256x512,512x1024")
args = parser.parse_args()
dtype = getattr(torch, args.dtype)


def percentile(ordered, q):
    return ordered[min(len(ordered) - 1, round(q * (len(ordered) - 1)))]


for text in args.shapes.split(","):
    shape = tuple(int(n) for n in text.split("x"))
    pool = [torch.randn(shape, device="npu", dtype=dtype) for _ in range(4)]
    sums = torch.softmax(pool[0], dim=-1).float().sum(-1).cpu()
    assert torch.allclose(sums, torch.ones_like(sums), atol=1e-2)
    for i in range(args.warm):
        torch.softmax(pool[i % 4], dim=-1)
    torch.npu.synchronize()
    us = []
    for i in range(args.repeats):
        x = pool[i % 4]
        torch.npu.synchronize()
        start = time.perf_counter()
        torch.softmax(x, dim=-1)
        torch.npu.synchronize()
        us.append((time.perf_counter() - start) * 1e6)
    us.sort()
    print(f"softmax {text} {args.dtype}: p50 {percentile(us, .5):.2f} us, "
          f"p10 {percentile(us, .1):.2f}, p90 {percentile(us, .9):.2f}, "
          f"max {us[-1]:.2f} us ({len(us)} calls)")
print("Latency of a single call, launch and wait together; four inputs in turn, all of them hot in L2.")
