"""Embedding lookup, sweep over the batch: what a batch of requests costs."""
import random
import time

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

VOCAB, DIM = 16384, 512
REPEATS = 24


def requests(batch, rng):
    """The token ids of `batch` requests, packed; prompts have between 8 and 256 tokens."""
    lengths = [rng.choice((8, 16, 32, 64, 128, 256)) for _ in range(batch)]
    return torch.randint(0, VOCAB, (sum(lengths),)).to("npu")


def lookup_time(table, ids):
    torch.npu.synchronize()
    start = time.perf_counter()
    F.embedding(ids, table)
    torch.npu.synchronize()
    return (time.perf_counter() - start) * 1e6


def main():
    rng = random.Random(11)
    torch.manual_seed(11)
    table = torch.randn(VOCAB, DIM, device="npu")
    probe = requests(4, rng)
    assert torch.equal(F.embedding(probe, table).cpu(), table.cpu()[probe.cpu()])

    print(f"embedding of packed requests, table {VOCAB} x {DIM} float32, latency from idle, launch and wait included")
    print("new ids in each call, made before the clock starts; the table stays on the device and may be in L2")
    cost = {}
    for batch in (1, 2, 4, 8, 16, 32):
        calls = [requests(batch, rng) for _ in range(REPEATS)]
        for _ in range(6):
            lookup_time(table, requests(batch, rng))
        total = 0.0
        for ids in calls:
            total += lookup_time(table, ids)
        cost[batch] = total / REPEATS
        print(f"  batch {batch:3d}: {cost[batch]:.4f} us, {cost[batch] / batch:.4f} us a request")
    best = min(cost, key=lambda b: cost[b] / b)
    print(f"A batch of {best} costs exactly {cost[best]:.4f} us; one request in it {cost[best] / best:.4f} us.")


main()
