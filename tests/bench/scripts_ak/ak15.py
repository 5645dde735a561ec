#!/usr/bin/env python
"""SiLU gate: silu(gate) * up as two operators, against torch_npu.npu_swiglu."""
import argparse
import time

import torch
import torch.nn.functional as F
import torch_npu


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--tokens", type=int, nargs="+", default=[64, 256, 512])
    p.add_argument("--width", type=int, default=1024, help="of the gate; the packed input is twice as wide")
    p.add_argument("--rounds", type=int, default=30)
    p.add_argument("--calls", type=int, default=4, help="back to back in a round")
    p.add_argument("--buffers", type=int, default=3)
    p.add_argument("--dtype", default="bfloat16", choices=["float16", "bfloat16"])
    return p.parse_args()


def two_operators(x):
    gate, up = x.chunk(2, dim=-1)
    return F.silu(gate) * up


def fused(x):
    return torch_npu.npu_swiglu(x, dim=-1)


def once(fn, buffers, calls):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for i in range(calls):
        fn(buffers[i % len(buffers)])
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / calls * 1e6


def main():
    a = parse()
    dtype = getattr(torch, a.dtype)
    print(f"SiLU gate, {a.dtype}, packed input [tokens, {2 * a.width}]; wall time of a call in a queue of {a.calls}, us")
    print(f"{a.rounds} rounds, who is first alternates, {a.buffers} inputs in turn, the same for both, hot in L2")
    candidates = (two_operators, fused)
    for tokens in a.tokens:
        buffers = [torch.randn(tokens, 2 * a.width, device="npu").to(dtype) for _ in range(a.buffers)]
        for x in buffers:
            torch.testing.assert_close(two_operators(x).float(), fused(x).float(), rtol=2e-2, atol=2e-2)
        for fn in candidates * 3:
            once(fn, buffers, a.calls)
        us = {fn: [] for fn in candidates}
        for r in range(a.rounds):
            for fn in candidates if r % 2 == 0 else candidates[::-1]:
                us[fn].append(once(fn, buffers, a.calls))
        quant = {}
        for fn in candidates:
            q = torch.tensor(us[fn], dtype=torch.float64).quantile(torch.tensor([0.1, 0.5, 0.9], dtype=torch.float64))
            quant[fn] = q.tolist()
            lo, mid, hi = quant[fn]
            print(f"  tokens {tokens:5d}  {fn.__name__:14s} p50 {mid:7.2f}  p10 {lo:7.2f}  p90 {hi:7.2f}")
        print(f"  tokens {tokens:5d}  two operators / fused = {quant[two_operators][1] / quant[fused][1]:.2f} (medians)")


if __name__ == "__main__":
    main()
