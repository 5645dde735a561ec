"""Attention kernel comparison: reference (matmul + softmax) vs scaled_dot_product_attention."""
import argparse
import math
import statistics
import time

import labkit  # noqa: F401
import pandas as pd
import torch
import torch.nn.functional as F

CASES = [(1, 8, 512, 64), (2, 8, 1024, 64), (1, 16, 2048, 64)]


def reference(q, k, v):
    scores = q @ k.transpose(-2, -1) * (1.0 / math.sqrt(q.shape[-1]))
    return torch.softmax(scores, dim=-1) @ v


def sdpa(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def block(fn, qkv, calls):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(calls):
        fn(*qkv)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / calls * 1e3


@torch.inference_mode()
def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--calls", type=int, default=4)
    ap.add_argument("--rounds", type=int, default=5)
    args = ap.parse_args()

    rows = []
    for case in CASES:
        qkv = [torch.randn(*case, device="npu", dtype=torch.float16) for _ in range(3)]
        for fn in (reference, sdpa):
            block(fn, qkv, 3)
        ref, fus = [], []
        for r in range(args.rounds):
            todo = [(reference, ref), (sdpa, fus)]
            for fn, sink in (todo[::-1] if r % 2 else todo):
                sink.append(block(fn, qkv, args.calls))
        apart = max(fus) < min(ref) or max(ref) < min(fus)
        rows.append({
            "B,H,S,D": ",".join(map(str, case)),
            "reference ms": f"{statistics.median(ref):.3f} [{min(ref):.3f}, {max(ref):.3f}]",
            "sdpa ms": f"{statistics.median(fus):.3f} [{min(fus):.3f}, {max(fus):.3f}]",
            "speed-up": f"{statistics.median(ref) / statistics.median(fus):.2f}x" if apart else "n.s.",
        })
    print(pd.DataFrame(rows).to_string(index=False))


if __name__ == "__main__":
    main()
