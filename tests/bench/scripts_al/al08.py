"""Attention latency as a picture: all samples, in a histogram, a line a bin. Nothing is left out."""
import time
from collections import Counter

import torch
import torch.nn.functional as F
import torch_npu

SAMPLES = 100
BINS = 8
HEADS, DIM = 8, 64


def sample(triples):
    out = []
    for i in range(SAMPLES):
        q, k, v = triples[i % len(triples)]
        torch.npu.synchronize()
        before = time.perf_counter_ns()
        F.scaled_dot_product_attention(q, k, v, is_causal=True)
        torch.npu.synchronize()
        out.append((time.perf_counter_ns() - before) / 1000)
    return out


def picture(us):
    low, high = min(us), max(us)
    width = max((high - low) / BINS, 0.01)
    counts = Counter(min(int((t - low) / width), BINS - 1) for t in us)
    for b in range(BINS):
        if counts[b]:
            print(f"   {low + b * width:9.2f} us  {counts[b]:4d}  " + "#" * max(1, counts[b] * 50 // len(us)))


def rank(us, share):
    return sorted(us)[max(0, -(-int(share * 100) * len(us) // 100) - 1)]


def reference(q, k, v):
    q, k, v = (t.cpu().float() for t in (q, k, v))
    later = torch.ones(q.shape[-2], k.shape[-2]).triu(1).bool()
    return torch.softmax((q @ k.mT / DIM**0.5).masked_fill(later, float("-inf")), -1) @ v


def main():
    print("scaled_dot_product_attention, causal, fp16, batch 1, 8 heads of 64.")
    print("One sample: from the call until the device has finished, in us. Warm L2: four sets of q, k, v in turn, "
          "all resident.")
    for length in (64, 128, 256, 512):
        triples = [
            tuple(torch.randn(1, HEADS, length, DIM, dtype=torch.float16, device="npu") for _ in range(3))
            for _ in range(4)
        ]
        got = F.scaled_dot_product_attention(*triples[0], is_causal=True)
        torch.testing.assert_close(got.cpu().float(), reference(*triples[0]), rtol=1e-2, atol=1e-2)
        for i in range(12):
            F.scaled_dot_product_attention(*triples[i % 4], is_causal=True)

        us = sample(triples)
        print(f"\nlength {length}: n={len(us)}  min {min(us):.2f}  p50 {rank(us, 0.5):.2f}  p90 {rank(us, 0.9):.2f}  "
              f"max {max(us):.2f} us")
        picture(us)


if __name__ == "__main__":
    main()
