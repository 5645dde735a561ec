"""Forward time of a few small networks at several batch sizes.

The device takes the time itself: an event before and behind each batch of ten calls, one wait at the very end. The
networks take turns, so a chip that gets slower slows all of them. Everything stays in the L2: what is measured is a
model that is called again and again.
"""
import itertools
import random

import numpy as np
import torch
import torch.nn as nn
import torch_npu

CALLS, ROUNDS = 10, 15
random.seed(0)

models = {
    "mlp": nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 128)),
    "deep": nn.Sequential(*[nn.Sequential(nn.Linear(128, 128), nn.ReLU()) for _ in range(4)]),
    "normed": nn.Sequential(nn.LayerNorm(128), nn.Linear(128, 128), nn.Softmax(dim=-1)),
}
models = {name: model.npu().eval() for name, model in models.items()}
batches = {b: torch.ones(b, 128).npu() for b in (1, 64)}
cases = list(itertools.product(models, batches))


@torch.inference_mode()
def main():
    for name, b in cases * 5:
        models[name](batches[b])
    torch.npu.synchronize()

    laps = {case: [] for case in cases}
    for _ in range(ROUNDS):
        for case in random.sample(cases, len(cases)):
            model, x = models[case[0]], batches[case[1]]
            begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(CALLS):
                model(x)
            end.record()
            laps[case].append((begin, end))
    torch.npu.synchronize()

    print(f"us a call, {ROUNDS} batches of {CALLS} calls, warm L2")
    for (name, b), pairs in laps.items():
        us = np.array([1000 * s.elapsed_time(e) / CALLS for s, e in pairs])
        q = np.percentile(us, [5, 50, 95])
        print(f"{name:8} batch {b:4}: {q[1]:7.2f}  ({q[0]:.2f} to {q[2]:.2f})")


main()
