"""What torch.compile costs once, and what a call costs afterwards.

The first call is reported on its own as compile + first run. It is not part of
the steady figure, for which the function is called several more times first.
"""
import time

import torch
import torch._dynamo
import torch.nn.functional as F

import labkit  # noqa: F401


def swiglu(x, w1, w2):
    return F.silu(x @ w1) * (x @ w2)


def norm_act(x, g):
    return F.gelu(F.rms_norm(x, (x.shape[-1],), g))


def wall(fn, *args, n=1):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(n):
        fn(*args)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / n


def report(fn, *args):
    torch._dynamo.reset()
    for _ in range(3):
        fn(*args)                                   # kernels of the eager form are loaded
    comp = torch.compile(fn, dynamic=False)
    first = wall(comp, *args)
    for _ in range(5):
        comp(*args)
    steady = sorted(wall(comp, *args, n=5) for _ in range(7))
    print(f"{fn.__name__:9s} compile + first call {first:8.3f} s (once, one sample) | "
          f"later calls median {steady[3] * 1e6:8.1f} us, range {steady[0] * 1e6:.1f} .. {steady[-1] * 1e6:.1f} us")


with torch.no_grad():
    x = torch.randn(64, 128, device="npu")
    report(swiglu, x, torch.randn(128, 256, device="npu"), torch.randn(128, 256, device="npu"))
    report(norm_act, x, torch.ones(128, device="npu"))
