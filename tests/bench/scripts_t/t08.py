"""STREAM-like kernels for the data sheet: what does the HBM give us?"""
import functools

import pandas as pd
import torch

import labkit  # noqa: F401

N = 8 * 1024 * 1024
REGISTRY = []


def kernel(arrays):
    def deco(fn):
        REGISTRY.append((fn.__name__, fn, arrays))
        return fn
    return deco


a = torch.rand(N, device="npu", dtype=torch.float32)
b = torch.rand(N, device="npu", dtype=torch.float32)
c = torch.zeros(N, device="npu", dtype=torch.float32)


@kernel(arrays=2)
def copy():
    c.copy_(a)


@kernel(arrays=2)
def scale():
    torch.mul(a, 3.0, out=c)


@kernel(arrays=3)
def add():
    torch.add(a, b, out=c)


@kernel(arrays=3)
def triad():
    torch.add(a, b, alpha=3.0, out=c)


def measure(fn, inner=5, outer=6):
    for _ in range(5):
        fn()
    torch.npu.synchronize()
    ms = []
    for _ in range(outer):
        s = torch.npu.Event(enable_timing=True)
        e = torch.npu.Event(enable_timing=True)
        s.record()
        for _ in range(inner):
            fn()
        e.record()
        e.synchronize()
        ms.append(s.elapsed_time(e) / inner)
    return pd.Series(ms)


table = []
for name, fn, arrays in REGISTRY:
    ms = measure(fn)
    gbs = arrays * N * 4 / (ms * 1e-3) / 1e9
    table.append({"kernel": name, "median": gbs.median(), "min": gbs.min(), "max": gbs.max()})

print("sustained HBM bandwidth, GB/s")
print(pd.DataFrame(table).set_index("kernel").round(1))
