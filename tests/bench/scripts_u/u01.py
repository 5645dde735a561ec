"""Optimizer step benchmark: SGD(momentum) with foreach=False vs foreach=True.

Same parameters, same gradients, only the implementation of step() changes.
"""
import argparse
import statistics
import time

import labkit  # noqa: F401
import torch


def make_params(n, dim, device):
    g = torch.Generator().manual_seed(0)
    out = []
    for _ in range(n):
        p = torch.nn.Parameter(torch.randn(dim, dim, generator=g).to(device))
        p.grad = torch.randn(dim, dim, generator=g).to(device)
        out.append(p)
    return out


class OptBench:
    def __init__(self, name, foreach, args):
        self.name = name
        self.params = make_params(args.params, args.dim, args.device)
        self.opt = torch.optim.SGD(self.params, lr=1e-3, momentum=0.9, foreach=foreach)

    def warmup(self, steps=5):
        for _ in range(steps):
            self.opt.step()
        torch.npu.synchronize()

    def run(self, blocks, steps):
        samples = []
        for _ in range(blocks):
            torch.npu.synchronize()
            t0 = time.perf_counter()
            for _ in range(steps):
                self.opt.step()
            torch.npu.synchronize()
            samples.append((time.perf_counter() - t0) / steps * 1e3)
        return samples


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--params", type=int, default=6)
    ap.add_argument("--dim", type=int, default=1024)
    ap.add_argument("--blocks", type=int, default=7)
    ap.add_argument("--steps", type=int, default=4)
    ap.add_argument("--device", default="npu")
    args = ap.parse_args()

    loop = OptBench("for-loop", False, args)
    fused = OptBench("foreach", True, args)

    results = {}
    for bench in (loop, fused):
        bench.warmup()
        results[bench.name] = bench.run(args.blocks, args.steps)

    print(f"SGD step, {args.params} tensors of {args.dim}x{args.dim} fp32")
    print(f"{'impl':<10}{'median ms':>12}{'min':>10}{'max':>10}")
    for name, s in results.items():
        print(f"{name:<10}{statistics.median(s):12.4f}{min(s):10.4f}{max(s):10.4f}")
    a, b = results["for-loop"], results["foreach"]
    if max(b) < min(a) or max(a) < min(b):
        r = statistics.median(a) / statistics.median(b)
        print(f"speed-up of foreach over for-loop at this size: {r:.2f}x")
    else:
        print("ranges overlap, no speed-up to report at this size")


if __name__ == "__main__":
    main()
