import math
import statistics
import time
from collections import defaultdict
from contextlib import contextmanager

import torch
import torch.nn.functional as F
import torch_npu

ROUNDS = 7
log = defaultdict(list)
scratch = torch.empty(52 << 20, device="npu", dtype=torch.float32)  # 218 MB


@contextmanager
def clocked(key):
    torch.npu.synchronize()
    start = time.perf_counter()
    yield
    torch.npu.synchronize()
    log[key].append((time.perf_counter() - start) * 1e6)


def composed(q, k, v):
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return torch.softmax(scores, dim=-1) @ v


def fused(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


shapes = [(1, 4, 128, 64), (1, 8, 256, 32)]
for shape in shapes:
    q, k, v = (torch.randn(shape, device="npu", dtype=torch.float16) for _ in range(3))
    torch.testing.assert_close(composed(q, k, v), fused(q, k, v), rtol=2e-2, atol=2e-2)
    for _ in range(5):
        fused(q, k, v)
        composed(q, k, v)
    for _ in range(ROUNDS):
        q, k, v = (torch.randn(shape, device="npu", dtype=torch.float16) for _ in range(3))
        scratch.zero_()
        with clocked(("composed", shape)):
            composed(q, k, v)
        with clocked(("fused", shape)):
            fused(q, k, v)

print(f"attention, fp16, wall time per call incl. issue, {ROUNDS} rounds with new q, k, v each")
for shape in shapes:
    a, b = log["composed", shape], log["fused", shape]
    qa, qb = statistics.quantiles(a, n=4), statistics.quantiles(b, n=4)
    print(f"{shape}: composed {qa[1]:.1f} us ({qa[0]:.1f} - {qa[2]:.1f}), fused {qb[1]:.1f} us "
          f"({qb[0]:.1f} - {qb[2]:.1f}): fused is {qa[1] / qb[1]:.2f} times as fast")
