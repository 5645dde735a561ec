"""Optimizer microbenchmark: how long does one AdamW step take, per implementation?

Parameter sets mimic the blocks of a small transformer. Gradients are filled once,
since AdamW costs the same whatever is in them.
"""
import argparse
import statistics
import time

import torch
import torch_npu  # noqa: F401

BLOCKS = {
    "mlp-512": [(2048, 512), (512, 2048)],
    "attn-512": [(512, 512)] * 4,
    "mlp-384": [(1536, 384), (384, 1536)],
}
IMPLS = {"foreach": dict(foreach=True), "fused": dict(fused=True)}


def build(shapes, kwargs):
    params = []
    for shape in shapes:
        p = torch.nn.Parameter(torch.randn(shape, device="npu") * 0.02)
        p.grad = torch.randn(shape, device="npu") * 1e-3
        params.append(p)
    return torch.optim.AdamW(params, lr=3e-4, weight_decay=0.1, **kwargs), params


def step_time_us(opt, repeats, steps):
    for _ in range(3):
        opt.step()
    torch.npu.synchronize()

    per_step = []
    for _ in range(repeats):
        tic = time.perf_counter()
        for _ in range(steps):
            opt.step()
        toc = time.perf_counter()
        per_step.append((toc - tic) / steps * 1e6)
        torch.npu.synchronize()
    return per_step


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--repeats", type=int, default=6)
    ap.add_argument("--steps", type=int, default=3)
    args = ap.parse_args()

    print(f"AdamW on {torch.npu.get_device_name(0)}, fp32 states, "
          f"{args.repeats} x {args.steps} steps after 3 steps of warm-up")
    print(f"{'block':<12}{'impl':<10}{'params':>10}{'median us/step':>16}{'min':>10}{'max':>10}")
    for name, shapes in BLOCKS.items():
        for impl, kwargs in IMPLS.items():
            opt, params = build(shapes, kwargs)
            t = step_time_us(opt, args.repeats, args.steps)
            count = sum(p.numel() for p in params)
            print(f"{name:<12}{impl:<10}{count / 1e6:>9.1f}M{statistics.median(t):>16.1f}"
                  f"{min(t):>10.1f}{max(t):>10.1f}")


if __name__ == "__main__":
    main()
