"""Compiled RMSNorm, per call, with a small timing decorator."""
import functools
import statistics
import time

import torch
import torch_npu

EPS = 1e-6


def rms_norm(x, w):
    return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + EPS).to(x.dtype) * w


def timed(rounds=3, calls=20):
    def wrap(fn):
        @functools.wraps(fn)
        def inner(*args):
            for _ in range(5):
                rms_norm(*args)
            samples = []
            for _ in range(rounds):
                torch._dynamo.reset()
                torch.npu.synchronize()
                t0 = time.perf_counter()
                fn(*args, calls=calls)
                torch.npu.synchronize()
                samples.append((time.perf_counter() - t0) / calls * 1e6)
            return samples
        return inner
    return wrap


@timed()
def compiled(x, w, calls):
    norm = torch.compile(rms_norm, backend="npu", dynamic=False)
    for _ in range(calls):
        norm(x, w)


@timed()
def eager(x, w, calls):
    for _ in range(calls):
        rms_norm(x, w)


print("rms_norm fp16, steady-state time per call (input hot in L2), mean of each of 3 rounds of 20 calls")
for i, (rows, hidden) in enumerate([(16, 512), (32, 1024)]):
    x = torch.randn(rows, hidden, device="npu", dtype=torch.float16)
    w = torch.rand(hidden, device="npu", dtype=torch.float16)
    torch.testing.assert_close(torch.compile(rms_norm, backend="npu", dynamic=False)(x, w), rms_norm(x, w),
                               rtol=1e-2, atol=1e-2)
    result = {}
    for fn in ((compiled, eager) if i % 2 else (eager, compiled)):
        result[fn.__name__] = fn(x, w)
    c, e = result["compiled"], result["eager"]
    print(f"({rows}, {hidden}): compiled {statistics.median(c):.1f} us/call [{min(c):.1f} .. {max(c):.1f}], "
          f"eager {statistics.median(e):.1f} us/call [{min(e):.1f} .. {max(e):.1f}]")
