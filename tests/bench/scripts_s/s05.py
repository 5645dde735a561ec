"""How much does scaled_dot_product_attention gain over the explicit formula?"""
import csv
import math
import sys
import time

import labkit  # noqa: F401
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class ExplicitAttention(nn.Module):
    def forward(self, q, k, v):
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        return torch.softmax(scores, dim=-1) @ v


class FusedAttention(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def block(module, qkv, calls):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(calls):
        module(*qkv)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / calls * 1e6


@torch.inference_mode()
def main(calls=6, rounds=24):
    torch.manual_seed(0)
    modules = {"explicit": ExplicitAttention(), "fused": FusedAttention()}
    out = csv.writer(sys.stdout)
    out.writerow("batch heads length dim dtype explicit_p50_us explicit_p90_us "
                 "fused_p50_us fused_p90_us speedup_p50 speedup_p10 speedup_p90".split())
    for batch, heads, length, dim in [(1, 4, 128, 64), (2, 4, 128, 64), (1, 4, 256, 64)]:
        qkv = [torch.randn(batch, heads, length, dim, device="npu") for _ in range(3)]
        for m in modules.values():
            for _ in range(10):
                m(*qkv)
        times = {name: [] for name in modules}
        for r in range(rounds):
            order = list(modules) if r % 2 else list(modules)[::-1]
            for name in order:
                times[name].append(block(modules[name], qkv, calls))
        a, b = np.array(times["explicit"]), np.array(times["fused"])
        figures = [*np.percentile(a, [50, 90]), *np.percentile(b, [50, 90]),
                   *np.percentile(a / b, [50, 10, 90])]
        out.writerow([batch, heads, length, dim, "float32"] + [f"{f:.2f}" for f in figures])
    print("q, k, v stay the same within a row (L2 warm); order swapped every round")


main()
