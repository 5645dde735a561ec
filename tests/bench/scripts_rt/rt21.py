"""Sort-as-a-service: a list of numbers arrives on the host, the sorted list leaves from the host. Latencies in a pandas table."""
import random
import time

import numpy as np
import pandas as pd
import torch
import torch_npu

LENGTHS, PER_LENGTH, WARM = (256, 2048, 16384), 100, 6


def handle(numbers):
    """What a request goes through; returns a NumPy array on the host."""
    up = torch.from_numpy(numbers).to("npu")
    return torch.sort(up).values.cpu().numpy()      # .cpu() waits for sort and download


def traffic(rng):
    plan = [n for n in LENGTHS for _ in range(PER_LENGTH)]
    random.Random(21).shuffle(plan)                 # lengths mixed, as they would come in
    return [rng.standard_normal(n, dtype=np.float32) for n in plan]


rng = np.random.default_rng(21)
for n in LENGTHS * WARM:                            # start-up of every length, not in the table
    handle(rng.standard_normal(n, dtype=np.float32))

requests, records, replies = traffic(rng), [], []
for i, numbers in enumerate(requests):
    arrived = time.perf_counter()
    reply = handle(numbers)
    left = time.perf_counter()
    records.append((i, len(numbers), (left - arrived) * 1e6))
    replies.append(reply)

wrong = sum(not np.array_equal(np.sort(q), r) for q, r in zip(requests, replies))
assert wrong == 0

frame = pd.DataFrame(records, columns=["request", "length", "us"])
table = frame.groupby("length")["us"].agg(
    n="count", mean="mean", std="std", min="min",
    p50="median", p90=lambda s: s.quantile(0.90), max="max")
print("Response time per request in us: array on the host -> upload -> torch.sort -> download -> array on the host")
print(table.round(1).to_string())
late = frame.nlargest(2, "us")
print("the two longest: " + "; ".join(f"request {r.request} ({r.length} numbers) {r.us:.0f} us" for r in late.itertuples()) + " (both are in the table)")
print(f"{len(frame)} requests, every one with new numbers and every reply identical to np.sort; {wrong} wrong.")
print(f"One request at a time. Ahead of the table: {WARM} requests per length to get compilation out of the way.")
print("Pageable memory, as requests would come; parsing, network, queueing and concurrent clients are outside of this.")
