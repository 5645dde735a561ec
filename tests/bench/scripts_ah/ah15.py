"""Embedding lookups, as a Markdown report on stdout."""
import random

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

VOCABULARY, WIDTH, TOKENS = 32_000, 128, 6144
POOL, ROUNDS = 24, 48
torch.manual_seed(21)
weight = torch.randn(VOCABULARY, WIDTH)
d_weight = weight.npu()

drawn = [torch.randint(VOCABULARY, (TOKENS,)) for _ in range(POOL)]
frequent = [(torch.rand(TOKENS) ** 6 * VOCABULARY).long() for _ in range(POOL)]
traffic = {"same ids in each call": [drawn[0]] * POOL, "new ids, uniform": drawn, "new ids, few are frequent": frequent}
on_device = {name: [ids.npu() for ids in lists] for name, lists in traffic.items()}
flush = torch.zeros(56 << 20, device="npu")  # 224 MiB


def look_up(ids):
    start, stop = (torch.npu.Event(enable_timing=True) for _ in "ab")
    start.record()
    rows = F.embedding(ids, d_weight)
    stop.record()
    return start, stop, rows


flush.add_(1)
for name, lists in traffic.items():
    for host, ids in zip(lists[:12], on_device[name]):
        *_, rows = look_up(ids)
    assert torch.equal(rows.cpu(), weight[host])

torch.npu.synchronize()

marks = {name: [] for name in traffic}
names, dice = list(traffic), random.Random(2)
for r in range(ROUNDS):
    dice.shuffle(names)
    for name in names:
        marks[name].append(look_up(on_device[name][r % POOL])[:2])
empty = []
for r in range(10):
    flush.add_(1)
    empty.append(look_up(on_device["new ids, uniform"][r])[:2])
torch.npu.synchronize()
marks["new ids, uniform, L2 overwritten before"] = empty

print(f"# Embedding: {TOKENS} ids from {VOCABULARY:,} x {WIDTH}, float32\n")
print(f"The table has {weight.nbytes / 2**20:.1f} MiB and stays in the L2 in the first three lines. Device time between two")
print("events around a call; the three kinds of traffic were measured in turns, in a drawn order.\n")
print("| traffic | calls | min us | median us | P75 us | max us |")
print("|---|---:|---:|---:|---:|---:|")
for name, pairs in marks.items():
    us = np.array([1e3 * a.elapsed_time(b) for a, b in pairs])
    print(f"| {name} | {len(us)} | {us.min():.2f} | {np.median(us):.2f} | {np.percentile(us, 75):.2f} | {us.max():.2f} |")
print("\nThe last line was taken afterwards, from ten calls: read its median and range, and compare no percents with it. Other widths were not measured.")
