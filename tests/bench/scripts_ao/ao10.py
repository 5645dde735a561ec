import asyncio
import time

import torch
import torch.nn.functional as F
import torch_npu

VOCAB, WARMUP, REQUESTS = 8192, 5, 30


async def producer(queue, tokens, count):
    """Token ids are made on the host and are on the device before the request enters the queue."""
    for seed in range(count):
        gen = torch.Generator().manual_seed(seed)
        ids = torch.randint(0, VOCAB, (tokens,), generator=gen)
        on_device = ids.to("npu")
        torch.npu.synchronize()
        await queue.put((ids, on_device))
    await queue.put(None)


async def consumer(queue, table, table_host):
    latencies, served = [], 0
    while (item := await queue.get()) is not None:
        ids, on_device = item
        torch.npu.synchronize()
        t0 = time.perf_counter()
        rows = F.embedding(on_device, table)
        torch.npu.synchronize()
        elapsed = time.perf_counter() - t0
        if served >= WARMUP:
            latencies.append(elapsed * 1e6)
        if served % 10 == 0:
            assert torch.equal(rows.cpu(), F.embedding(ids, table_host))
        served += 1
    return latencies


async def bench(tokens, dim):
    table = torch.randn(VOCAB, dim, device="npu", dtype=torch.float16)
    queue = asyncio.Queue(maxsize=2)
    _, lat = await asyncio.gather(producer(queue, tokens, WARMUP + REQUESTS), consumer(queue, table, table.cpu()))
    lat.sort()
    n = len(lat)
    print(f"embedding of {tokens:5d} tokens, table {VOCAB} x {dim} fp16: latency p50 {lat[n // 2]:7.2f} us, "
          f"p90 {lat[int(n * .9)]:7.2f} us, max {lat[-1]:7.2f} us ({n} requests after {WARMUP} of warm-up)")


async def main():
    print("One lookup at a time, from issue to result on the device; queueing and the ids' copy are not in it.")
    print("New ids in every request; the table (at most 8.4 MB) stays in L2.")
    for tokens, dim in [(128, 256), (1024, 256), (1024, 512), (4096, 256)]:
        await bench(tokens, dim)


asyncio.run(main())
