import math
import time
from contextlib import contextmanager

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu


@contextmanager
def stopwatch(into):
    torch.npu.synchronize()
    begin = time.perf_counter()
    yield
    torch.npu.synchronize()
    into.append((time.perf_counter() - begin) * 1e6)


def written_out(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return torch.softmax(scores, dim=-1) @ v


def summary(us):
    us = np.asarray(us)
    return f"median {np.median(us):8.2f} us, quartiles {np.percentile(us, 25):.2f} .. {np.percentile(us, 75):.2f}, max {us.max():.2f}"


torch.manual_seed(0)
print("Self-attention without mask, float32, forward only: SDPA and the same written out. Time from issue to completion.")
print("q, k, v are reused, so hot in the L2. 30 pairs a shape; who goes first alternates.")
for batch, heads, length, width in [(1, 4, 64, 64), (2, 4, 64, 64), (1, 4, 128, 32)]:
    q, k, v = (torch.randn(batch, heads, length, width, device="npu") for _ in range(3))
    gap = (F.scaled_dot_product_attention(q, k, v) - written_out(q, k, v)).abs().max().item()
    assert gap < 1e-4, gap
    for _ in range(6):
        F.scaled_dot_product_attention(q, k, v)
        written_out(q, k, v)
    sdpa, plain = [], []
    for i in range(30):
        if i % 2:
            with stopwatch(plain):
                written_out(q, k, v)
            with stopwatch(sdpa):
                F.scaled_dot_product_attention(q, k, v)
        else:
            with stopwatch(sdpa):
                F.scaled_dot_product_attention(q, k, v)
            with stopwatch(plain):
                written_out(q, k, v)
    print(f"B{batch} H{heads} L{length} D{width}  (largest difference {gap:.1e})")
    print("   sdpa       ", summary(sdpa))
    print("   written out", summary(plain))
