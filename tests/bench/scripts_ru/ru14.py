#!/usr/bin/env python3
import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu


def parse():
    ap = argparse.ArgumentParser(description="one training step of a small classifier, wall and device")
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--features", type=int, default=128)
    ap.add_argument("--hidden", type=int, default=128)
    ap.add_argument("--steps", type=int, default=24)
    ap.add_argument("--warmup", type=int, default=6)
    return ap.parse_args()


def main(a):
    torch.manual_seed(1)
    net = torch.nn.Sequential(
        torch.nn.Linear(a.features, a.hidden),
        torch.nn.ReLU(),
        torch.nn.Linear(a.hidden, 10),
    ).npu()
    weights = list(net.parameters())
    x = torch.randn(a.batch, a.features, device="npu")
    y = torch.randint(0, 10, (a.batch,), device="npu")
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)

    wall, device, losses = [], [], []
    for i in range(a.warmup + a.steps):
        torch.npu.synchronize()
        t = time.perf_counter()
        begin.record()
        loss = F.cross_entropy(net(x), y)
        grads = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for w, g in zip(weights, grads):
                w.add_(g, alpha=-0.1)
        end.record()
        torch.npu.synchronize()
        took = time.perf_counter() - t
        if i >= a.warmup:
            wall.append(took * 1e3)
            device.append(begin.elapsed_time(end))
        losses.append(loss.item())

    print(f"bench: train step, batch {a.batch}, mlp {a.features}-{a.hidden}-10, forward + backward + plain sgd update, float32")
    print()
    print(f"{a.steps} steps counted, the {a.warmup} before them not. Same batch each step, no loader.")
    for name, ms in (("wall (idle to idle, perf_counter)", wall), ("begin event to end event", device)):
        p50, p90 = np.percentile(ms, [50, 90])
        print(f"- {name}: p50 {p50:.3f} ms, p90 {p90:.3f} ms, mean {np.mean(ms):.3f} ms, max {np.max(ms):.3f} ms")
    print(f"- examples per second at the median wall step: {a.batch / np.median(wall) * 1e3:.0f}")
    print(f"- examples per second over all counted steps, wall time summed: {a.batch * a.steps / np.sum(wall) * 1e3:.0f}")
    print()
    print(f"Loss-check: first step {losses[0]:.4f}, last step {losses[-1]:.4f}. It is read outside the timed part.")


if __name__ == "__main__":
    main(parse())
