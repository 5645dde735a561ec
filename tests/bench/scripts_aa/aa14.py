"""A small asynchronous server: what one client sees from submit to answer."""
import asyncio
import statistics
import time

import torch
import torch.nn as nn
import torch_npu

LENGTHS = (16, 64, 128)
REQUESTS = 40


class Server:
    def __init__(self, vocabulary=2000, dim=128):
        torch.manual_seed(0)
        self.table = nn.Embedding(vocabulary, dim).npu()
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.Tanh(), nn.Linear(dim, 8)).npu()
        self.queue = asyncio.Queue()

    @torch.inference_mode()
    def answer(self, tokens):
        pooled = self.table(tokens.npu()).mean(dim=0)
        return self.head(pooled).softmax(-1).tolist()

    async def work(self):
        while True:
            tokens, reply = await self.queue.get()
            reply.set_result(self.answer(tokens))

    async def ask(self, tokens):
        reply = asyncio.get_running_loop().create_future()
        await self.queue.put((tokens, reply))
        return await reply


async def client(server, length, count):
    generator = torch.Generator().manual_seed(length)
    prompts = [torch.randint(0, 2000, (length,), generator=generator) for _ in range(count)]
    seen = []
    for prompt in prompts:
        begin = time.perf_counter()
        scores = await server.ask(prompt)
        seen.append((time.perf_counter() - begin) * 1e6)
        assert abs(sum(scores) - 1) < 1e-4
    return seen


async def main():
    server = Server()
    worker = asyncio.create_task(server.work())
    for length in LENGTHS:
        await client(server, length, 10)
    print("one client, one request at a time; upload of the tokens, model, download and the queue are in the figure")
    for length in LENGTHS:
        seen = await client(server, length, REQUESTS)
        cuts = statistics.quantiles(seen, n=20)
        print(f"  {length:4d} tokens: end-to-end latency p50 {statistics.median(seen):.0f} us, p95 {cuts[-1]:.0f} us, "
              f"worst {max(seen):.0f} us, all {len(seen)} requests counted")
    worker.cancel()


asyncio.run(main())
