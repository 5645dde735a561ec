"""A compiled chain of multiplications: what the compiler costs and what a call costs, apart."""
import statistics
import time

import torch
import torch_npu  # noqa: F401


def chain(x):
    return x * 1.5 * x * 0.5


for n in (2048, 65536):
    x = torch.ones(n, device="npu")
    torch._dynamo.reset()
    compiled = torch.compile(chain, backend="npu", dynamic=False)
    t = time.perf_counter()
    compiled(x)
    torch.npu.synchronize()
    once = time.perf_counter() - t
    for _ in range(5):
        compiled(x)
    us = []
    for _ in range(25):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(20):
            compiled(x)
        torch.npu.synchronize()
        us.append((time.perf_counter() - t) * 5e4)
    print(f"n = {n}, float32")
    print(f"  once: {once * 1e3:.2f} ms to build the graph and load it")
    print(f"  then: {statistics.median(us):.2f} us a call, deviation {statistics.stdev(us):.3f} us, 25 blocks of 20, L2 warm")
