"""torch.where against masked_fill, driven from an asyncio loop as our server does it.

One task runs at a time (a lock), so the numbers are latencies without contention.
"""
import asyncio
import time
from collections import defaultdict

import torch
import torch_npu

SHAPES = [(64, 512), (256, 1024), (512, 2048)]
ROUNDS, WARMUP = 24, 6
NEG = float("-inf")


def by_where(scores, mask, neg):
    return torch.where(mask, neg, scores)


def by_fill(scores, mask, neg):
    return scores.masked_fill(mask, NEG)


CANDIDATES = [("where", by_where), ("masked_fill", by_fill)]


async def one_call(lock, fn, args):
    async with lock:
        torch.npu.synchronize()
        t0 = time.perf_counter()
        fn(*args)
        torch.npu.synchronize()
        took = time.perf_counter() - t0
    await asyncio.sleep(0)
    return took * 1e6


async def run_shape(shape):
    lock = asyncio.Lock()
    neg = torch.tensor(NEG, device="npu")
    pool = []
    for _ in range(3):
        scores = torch.randn(shape).to("npu")
        mask = (torch.rand(shape) < 0.3).to("npu")
        pool.append((scores, mask, neg))
    for args in pool:
        assert torch.equal(by_where(*args), by_fill(*args)), "results differ"
    samples = defaultdict(list)
    for r in range(-WARMUP, ROUNDS):
        pairs = CANDIDATES if r % 2 else CANDIDATES[::-1]
        for name, fn in pairs:
            # each candidate reads its own tensor in a round, and all of them over the run
            args = pool[(r + (name == "where")) % len(pool)]
            us = await one_call(lock, fn, args)
            if r >= 0:
                samples[name].append(us)
    return samples


async def main():
    print("masking of fp32 scores with -inf: us for one call, issue and wait included; "
          f"hot cache; {ROUNDS} samples after {WARMUP} warm-up rounds")
    for shape in SHAPES:
        for name, s in sorted((await run_shape(shape)).items()):
            s.sort()
            print(f"{str(shape):>12} {name:<12} median {s[len(s) // 2]:8.2f}  "
                  f"min {s[0]:8.2f}  p90 {s[int(len(s) * .9)]:8.2f}  max {s[-1]:8.2f}")


asyncio.run(main())
