"""How long does a transformer encoder block take when requests come through an async front end?"""
import asyncio

import numpy as np
import torch
import torch_npu

REQUESTS, WORKERS = 16, 2


class Server:
    def __init__(self, d_model=256, heads=4):
        torch.manual_seed(0)
        self.block = torch.nn.TransformerEncoderLayer(d_model, heads, 2 * d_model, dropout=0.0, batch_first=True).npu()
        self.queue = asyncio.Queue()
        self.marks = []

    async def worker(self):
        stream = torch.npu.Stream()
        while True:
            batch = await self.queue.get()
            begin = torch.npu.Event(enable_timing=True)
            end = torch.npu.Event(enable_timing=True)
            begin.record()
            with torch.npu.stream(stream), torch.no_grad():
                self.block(batch)
            end.record()
            self.marks.append((begin, end))
            self.queue.task_done()
            await asyncio.sleep(0)

    async def run(self, batch, requests):
        tasks = [asyncio.create_task(self.worker()) for _ in range(WORKERS)]
        for _ in range(requests):
            self.queue.put_nowait(batch)
        await self.queue.join()
        torch.npu.synchronize()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        marks, self.marks = self.marks, []
        return np.array([1e3 * b.elapsed_time(e) for b, e in marks])


async def main():
    server = Server()
    print(f"encoder block, d_model 256, 4 heads, fp32, {REQUESTS} requests, {WORKERS} workers, warm L2")
    for batch, seq in [(4, 64), (4, 128)]:
        x = torch.randn(batch, seq, 256).npu()
        await server.run(x, 6)
        us = await server.run(x, REQUESTS)
        p50, p90, p99 = np.percentile(us, [50, 90, 99])
        print(f"batch {batch:2} x seq {seq:4}: block time P50 {p50:7.1f}  P90 {p90:7.1f}  P99 {p99:7.1f} us")


asyncio.run(main())
