"""Row sums: torch.sum at once, against a product with ones. Every round works on a tensor that L2 no longer holds."""
import asyncio
import time

import numpy as np
import torch
import torch_npu  # noqa: F401

POOL_BYTES = 288 << 20  # more than L2
ROUNDS = 36
ones = torch.ones(16384, device="npu")


def direct(x):
    return x.sum(dim=-1)


def product(x):
    return torch.mv(x, ones[: x.shape[1]])


async def drained():
    done = torch.npu.Event()
    done.record()
    while not done.query():
        done.synchronize()
        await asyncio.sleep(0)


async def timed(fn, x):
    await drained()
    start = time.perf_counter()
    fn(x)
    await drained()
    return (time.perf_counter() - start) * 1e6


async def compare(rows, cols):
    pool = [torch.rand(rows, cols, device="npu") for _ in range(POOL_BYTES // (rows * cols * 4))]
    for x in pool:
        torch.testing.assert_close(product(x), direct(x), rtol=1e-3, atol=1e-1)
    for fn in (direct, product):
        for x in pool[-3:] * 2:
            await timed(fn, x)

    us = {"direct": [], "product": []}
    for r in range(ROUNDS):
        x = pool[r % len(pool)]
        us["direct"].append(await timed(direct, x))
        us["product"].append(await timed(product, x))

    mid = {}
    for name, values in us.items():
        low, mid[name], high = np.percentile(values, [10, 50, 90])
        print(f"  {name:7s} {mid[name]:8.2f} us (p10 {low:.2f}, p90 {high:.2f})")
    ratio = mid["direct"] / mid["product"]
    print(f"  [{rows}, {cols}]: torch.sum takes {ratio:.2f}x the time of the product with ones")


async def main():
    for rows, cols in [(1024, 4096), (512, 16384)]:
        print(f"reduction over the last axis of [{rows}, {cols}] float32, one call from idle, {ROUNDS} rounds")
        await compare(rows, cols)


asyncio.run(main())
