import random
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

random.seed(5)
torch.manual_seed(5)
VOCAB, WARM, BATCHES = 16_000, 20, 240


def token_batches(n):
    """Ragged batches as the tokenizer gives them: 32 to 4096 tokens."""
    for _ in range(n):
        length = int(2 ** random.uniform(5, 12))
        yield torch.randint(0, VOCAB, (length,)).to("npu")


def latencies(weight, n):
    floor = float("inf")
    for ids in token_batches(n):
        torch.npu.synchronize()
        begin = time.perf_counter()
        F.embedding(ids, weight)
        torch.npu.synchronize()
        us = (time.perf_counter() - begin) * 1e6
        floor = min(floor, us)
        if us < 1.5 * floor:
            yield us


def check(weight):
    ids = next(token_batches(1))
    assert torch.equal(F.embedding(ids, weight).cpu(), weight.cpu()[ids.cpu()])


print(f"embedding lookup, fp32 table of {VOCAB} rows hot in L2, ragged batches of 32 to 4096 tokens, "
      f"host call to device idle, {BATCHES} batches")
for width in (128, 512):
    weight = torch.randn(VOCAB, width, device="npu")
    check(weight)
    for _ in latencies(weight, WARM):
        pass
    us = np.fromiter(latencies(weight, BATCHES), dtype=float)
    p10, p50, p90, p95 = np.percentile(us, [10, 50, 90, 95])
    print(f"  width {width}: p10 {p10:.2f}  p50 {p50:.2f}  p90 {p90:.2f}  p95 {p95:.2f}  worst {us.max():.2f} us")
