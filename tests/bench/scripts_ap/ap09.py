import asyncio
import statistics
import time

import torch
import torch.nn.functional as F
import torch_npu

SHAPES = [(32, 1024), (128, 1024), (128, 2048)]
WARMUP, REQUESTS = 10, 50


def silu_gate(x):
    gate, up = x.chunk(2, dim=-1)
    return F.silu(gate) * up


async def producer(queue, rows, cols):
    for i in range(WARMUP + REQUESTS):
        await queue.put((i, torch.randn(rows, 2 * cols)))
    await queue.put(None)


async def worker(queue, took):
    checked = 0
    while (item := await queue.get()) is not None:
        i, host = item
        torch.npu.synchronize()
        start = time.perf_counter()
        x = host.to("npu")
        y = silu_gate(x)
        torch.npu.synchronize()
        elapsed = time.perf_counter() - start
        if i >= WARMUP:
            took.append(elapsed * 1e6)
        if i % 20 == 0:
            torch.testing.assert_close(y.cpu().float(), silu_gate(host.float()), rtol=1e-4, atol=1e-4)
            checked += 1
        await asyncio.sleep(0)
    return checked


async def measure(rows, cols):
    queue, took = asyncio.Queue(maxsize=8), []
    _, checked = await asyncio.gather(producer(queue, rows, cols), worker(queue, took))
    return took, checked


async def main():
    print("SiLU gate, silu(gate) * up, fp32: time of the operator on the device, launch and wait included")
    for rows, cols in SHAPES:
        took, checked = await measure(rows, cols)
        deciles = statistics.quantiles(took, n=10)
        print(f"  {rows:4d} x {cols}: {statistics.median(took):8.2f} us a gate "
              f"(p10 {deciles[0]:.2f}, p90 {deciles[8]:.2f}; {len(took)} different inputs, {checked} compared)")


asyncio.run(main())
