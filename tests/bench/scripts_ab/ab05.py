"""Latency as a caller of the embedding service sees it: from the request to the answer in host memory.

One client, one request at a time (closed loop). The wait for the answer is part of what the client waits for,
so it is part of each sample. Says nothing about how long the kernels take or about throughput.
"""
import asyncio
import time

import numpy as np
import torch
import torch_npu
from torch import nn


class Service:
    def __init__(self, vocabulary=2000, width=128):
        torch.manual_seed(0)
        self.table = nn.EmbeddingBag(vocabulary, width, mode="mean").npu()
        self.project = nn.Linear(width, width).npu()
        self.requests = asyncio.Queue()

    async def serve(self):
        while True:
            tokens, answer = await self.requests.get()
            with torch.no_grad():
                vector = self.project(self.table(tokens.npu()))
            answer.set_result(vector.cpu())          # waits for the device

    async def embed(self, tokens):
        answer = asyncio.get_running_loop().create_future()
        await self.requests.put((tokens, answer))
        return await answer


async def client(service, length, count):
    pool = [torch.randint(0, 2000, (1, length)) for _ in range(16)]
    for i in range(30):
        await service.embed(pool[i % 16])
    seconds = []
    for i in range(count):
        begin = time.perf_counter()
        vector = await service.embed(pool[i % 16])
        seconds.append(time.perf_counter() - begin)
        assert vector.shape == (1, 128)
    return 1e6 * np.array(seconds)


async def main():
    service = Service()
    server = asyncio.create_task(service.serve())
    print("round trip of one request, host tokens in, host vector out (copies, queue and waiting included), us")
    for length in (8, 64, 256):
        us = await client(service, length, 300)
        p50, p90, p99 = np.percentile(us, (50, 90, 99))
        print(f"  {length:>3} tokens: P50 {p50:.0f}  P90 {p90:.0f}  P99 {p99:.0f}  max {us.max():.0f}   n={len(us)}")
    server.cancel()


asyncio.run(main())
