"""End-to-end response time of a little service, requests one behind the other (asyncio)."""
import asyncio
import numpy as np
import torch
import torch_npu

net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.Sigmoid(), torch.nn.Linear(64, 8)).npu().eval()

async def handle(request):
    with torch.no_grad():
        return net(request.npu()).cpu()

async def client(batch, requests=40):
    loop = asyncio.get_running_loop()
    seen = []
    for _ in range(requests):
        begin = loop.time()
        await handle(torch.ones(batch, 32))
        seen.append(1e6 * (loop.time() - begin))
    return seen

async def main():
    for batch in (1, 16, 128):
        us = await client(batch)
        print(f"batch {batch} x 32: response P50 {np.percentile(us, 50):.0f}, P99 {np.percentile(us, 99):.0f} us")

asyncio.run(main())
