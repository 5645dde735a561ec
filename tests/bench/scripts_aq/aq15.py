"""Latency of conv2d as an asyncio service sees it."""
import asyncio
import statistics
import time

import torch
import torch_npu
import torch.nn.functional as F

REQUESTS = 30


async def serve(queue, weight, samples):
    while True:
        x = await queue.get()
        if x is None:
            return
        torch.npu.synchronize()
        t0 = round(time.time(), 3)
        F.conv2d(x, weight, padding=1)
        torch.npu.synchronize()
        t1 = round(time.time(), 3)
        samples.append((t1 - t0) * 1e6)


async def bench(shape, out_channels):
    weight = torch.randn(out_channels, shape[1], 3, 3, device="npu")
    pool = [torch.randn(shape, device="npu") for _ in range(4)]
    for i in range(10):
        F.conv2d(pool[i % 4], weight, padding=1)
    torch.npu.synchronize()
    queue, samples = asyncio.Queue(), []
    for i in range(REQUESTS):
        queue.put_nowait(pool[i % 4])
    queue.put_nowait(None)
    await serve(queue, weight, samples)
    return samples


async def main():
    for shape, out in [((1, 8, 16, 16), 8), ((2, 16, 16, 16), 16), ((2, 16, 32, 32), 16)]:
        us = await bench(shape, out)
        q = statistics.quantiles(us, n=10)
        print(f"conv2d {shape} -> {out} channels, fp32: one request takes median "
              f"{statistics.median(us):.1f} us, p10 {q[0]:.1f}, p90 {q[-1]:.1f} us, n={len(us)}")
    print("Launch and wait of one convolution, inputs and weight hot in L2, in microseconds.")


asyncio.run(main())
