"""LayerNorm: library call against a hand-written version, forward + backward."""
import argparse
import random
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu


def hand(x, g, b, eps=1e-5):
    mu = x.mean(-1, keepdim=True)
    var = (x - mu).square().mean(-1, keepdim=True)
    return (x - mu) * torch.rsqrt(var + eps) * g + b


def lib(x, g, b, eps=1e-5):
    return F.layer_norm(x, (x.shape[-1],), g, b, eps)


def fwd_bwd(fn, leaves, dy):
    return torch.autograd.grad(fn(*leaves), leaves, dy)


def per_call_us(fn, leaves, dy, calls):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(calls):
        fwd_bwd(fn, leaves, dy)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6 / calls


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pairs", type=int, default=30)
    ap.add_argument("--calls", type=int, default=5)
    args = ap.parse_args()
    rng = np.random.default_rng(11)
    print("amortised wall time per call, host launch included, same fp32 inputs for both, reused between calls")
    for rows, cols in [(64, 256), (256, 512), (512, 1024)]:
        torch.manual_seed(0)
        x, g, b = (torch.randn(s, device="npu", requires_grad=True) for s in [(rows, cols), (cols,), (cols,)])
        dy = torch.randn(rows, cols, device="npu")
        for p, q in zip(fwd_bwd(hand, (x, g, b), dy), fwd_bwd(lib, (x, g, b), dy)):
            torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-3)
        for fn in (hand, lib) * 4:
            per_call_us(fn, (x, g, b), dy, args.calls)
        us = {hand: [], lib: []}
        for i in range(args.pairs):
            for fn in random.sample([hand, lib], 2):
                us[fn].append(per_call_us(fn, (x, g, b), dy, args.calls))
        h, l = np.array(us[hand]), np.array(us[lib])
        idx = rng.integers(0, args.pairs, (4000, args.pairs))
        lo, hi = np.percentile(np.median(h[idx], 1) / np.median(l[idx], 1), [2.5, 97.5])
        if lo <= 1.0 <= hi:
            verdict = "cannot tell them apart"
        else:
            verdict = f"library {'faster' if lo > 1 else 'slower'} here"
        print(f"{rows:4d}x{cols:<5d} hand {np.median(h):8.1f}  lib {np.median(l):8.1f} us  "
              f"hand/lib {np.median(h) / np.median(l):.3f} (95% {lo:.3f}-{hi:.3f}, {args.pairs} pairs)  {verdict}")


if __name__ == "__main__":
    main()
