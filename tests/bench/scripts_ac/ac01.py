"""Closed-loop load on a small ranking service: what a client waits for one answer, from request to answer on the host."""
import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
import torch_npu  # noqa: F401

FEATURES = 96
WARM, REQUESTS = 6, 40


class Ranker(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Sequential(
            torch.nn.Linear(FEATURES, 192), torch.nn.SiLU(), torch.nn.Linear(192, 1))

    def forward(self, rows):
        return self.body(rows).squeeze(-1)


class Service:
    def __init__(self):
        torch.manual_seed(11)
        self.model = Ranker().eval().npu()
        self.worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rank")

    @torch.inference_mode()
    def answer(self, rows):
        scores = self.model(rows.to("npu"))
        return scores.cpu().argsort(descending=True)

    async def rank(self, rows):
        return await asyncio.get_running_loop().run_in_executor(self.worker, self.answer, rows)


async def client(service, rows, count, latencies=None):
    for _ in range(count):
        begin = time.perf_counter()
        order = await service.rank(rows)
        end = time.perf_counter()
        assert order.numel() == rows.shape[0]
        if latencies is not None:
            latencies.append((end - begin) * 1e3)


async def level(service, clients, candidates):
    payloads = [torch.randn(candidates, FEATURES) for _ in range(clients)]
    await asyncio.gather(*(client(service, p, WARM) for p in payloads))
    latencies = []
    await asyncio.gather(*(client(service, p, REQUESTS, latencies) for p in payloads))
    return np.array(latencies)


async def main():
    service = Service()
    print("end-to-end latency of a request in ms: queue, copy in, model, copy out, sort on the host")
    for clients in (1, 4):
        for candidates in (32, 256):
            ms = await level(service, clients, candidates)
            p50, p90 = np.percentile(ms, [50, 90])
            print(f"clients={clients} candidates={candidates:4d}  p50={p50:.3f} p90={p90:.3f} "
                  f"min={ms.min():.3f} max={ms.max():.3f}  n={ms.size}")


if __name__ == "__main__":
    asyncio.run(main())
