"""A scorer behind a queue: steady-state latency of score(), as its caller sees it."""
import time
from collections import deque

import numpy as np
import torch
import torch_npu

HEADS, DIM, KEYS = 4, 64, 96
LENGTHS = (16, 32, 48)
REQUESTS = 150


class Scorer:
    """score(query) = softmax(query @ keys), a batched product for all heads; done when the caller can use it."""

    def __init__(self):
        torch.manual_seed(0)
        self.keys = torch.randn(HEADS, DIM, KEYS).npu()

    def score(self, query):
        result = torch.bmm(query, self.keys).mul_(DIM ** -0.5).softmax(-1)
        torch.npu.synchronize()
        return result


def requests(count):
    rng = np.random.default_rng(8)
    for _ in range(count):
        yield torch.randn(HEADS, int(rng.choice(LENGTHS)), DIM)


scorer = Scorer()
queue = deque((q, q.npu()) for q in requests(REQUESTS))
torch.npu.synchronize()

latency, answers = {n: [] for n in LENGTHS}, []
while queue:
    host, query = queue.popleft()
    arrived = time.perf_counter()
    result = scorer.score(query)
    latency[query.shape[1]].append((time.perf_counter() - arrived) * 1e6)
    answers.append((host, result))

for host, result in answers[::10]:
    want = (torch.bmm(host, scorer.keys.cpu()) * DIM ** -0.5).softmax(-1)
    assert torch.allclose(result.cpu(), want, atol=1e-3)

print(f"score(): bmm [{HEADS}, n, {DIM}] x [{HEADS}, {DIM}, {KEYS}] + softmax, float32; one request at a time, {REQUESTS} in all")
print("latency at the caller in steady operation, from the call until the answer is there (us):")
for n, us in latency.items():
    q1, q2, q3 = np.percentile(us, [25, 50, 75])
    print(f"  n = {n:3}: {len(us):3} requests, mean {np.mean(us):9.1f}, median {q2:8.1f}, quartiles {q1:8.1f} .. {q3:8.1f}, longest {max(us):10.1f}")
both = np.concatenate(list(latency.values()))
print(f"  all:     one worker serves {1e6 / both.mean():,.0f} requests a second (1 / mean), longest wait {both.max():.1f} us")
