# right
# several async clients; the time of each request as its client sees it
import asyncio
import time
import statistics
import torch
import torch_npu

w = torch.randn(512, 512).npu()


async def request(x):
    t = time.monotonic()
    for _ in range(24):
        x = torch.relu(x @ w)
    torch.npu.current_stream().synchronize()
    return time.monotonic() - t


async def client(n, out):
    x = torch.randn(128, 512).npu()
    torch.npu.synchronize()
    for i in range(n):
        took = await request(x)
        if i >= 2:
            out.append(took)
        await asyncio.sleep(0)


async def main():
    times = []
    await asyncio.gather(client(8, times), client(8, times))
    q = statistics.quantiles(times, n=10)
    print(f"24 layers of 128 x 512 x 512: P10 {q[0] * 1e6:.0f}, P50 {q[4] * 1e6:.0f}, P90 {q[8] * 1e6:.0f} us")


asyncio.run(main())
