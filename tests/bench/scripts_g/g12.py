"""Compiled SwiGLU. The first call (tracing and compilation) is reported by itself, the steady state behind it."""

import statistics
import time
import timeit

import torch
import torch_npu  # noqa: F401

INNER = 16


def swiglu(x, gate, up):
    return torch.nn.functional.silu(x @ gate) * (x @ up)


def batch(function, arguments):
    for _ in range(INNER):
        function(*arguments)
    torch.npu.synchronize()


for tokens, width, hidden in ((64, 256, 512), (128, 256, 512), (128, 512, 512)):
    torch._dynamo.reset()
    arguments = [torch.rand(s).npu() for s in ((tokens, width), (width, hidden), (width, hidden))]
    compiled = torch.compile(swiglu, backend="npu", dynamic=False)

    torch.npu.synchronize()
    begin = time.perf_counter()
    compiled(*arguments)
    torch.npu.synchronize()
    first_ms = (time.perf_counter() - begin) * 1e3

    batch(compiled, arguments)
    laps = timeit.repeat(lambda f=compiled, a=arguments: batch(f, a), number=1, repeat=20)
    us = sorted(lap / INNER * 1e6 for lap in laps)
    q1, q2, q3 = statistics.quantiles(us, n=4)
    print(f"tokens {tokens}, width {width}, hidden {hidden}, float32")
    print(f"    first call, once a process: {first_ms:.1f} ms (compilation)")
    print(f"    steady: median {q2:.1f} us a call, quartiles {q1:.1f} and {q3:.1f}, slowest {us[-1]:.1f}")
    print(f"    ({len(us)} batches of {INNER} calls, one wait a batch, weights warm in L2)")
