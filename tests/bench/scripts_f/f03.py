"""Is softmax in one call faster than exp and a division? perf_counter_ns, blocks of 20, inputs in the L2."""
from time import perf_counter_ns as ns
import numpy as np
import torch
import torch_npu


def one(x):
    return x.softmax(-1)


def two(x):
    e = x.exp()
    return e / e.sum(-1, keepdim=True)


def blocks(f, x, n=40, calls=20):
    for _ in range(10):
        f(x)
    torch.npu.synchronize()
    out = []
    for _ in range(n):
        start = ns()
        for _ in range(calls):
            f(x)
        torch.npu.synchronize()
        out.append((ns() - start) / calls)
    return np.percentile(out, [25, 50, 75])


for shape in [(32, 512), (256, 1024), (512, 2048)]:
    x = torch.ones(shape, device="npu")
    a = blocks(one, x)
    b = blocks(two, x)
    print(shape, "one", a.round(), "two", b.round(), f"ns; one is {b[1] / a[1]:.2f} times faster")
