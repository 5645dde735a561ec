"""Training steps per second of a small classifier, for three batch sizes. Prints JSON for the dashboard."""
import json

import numpy as np
import torch
import torch_npu  # noqa: F401
from torch import nn

STEPS = 30
BATCHES = (64, 256, 1024)
FEATURES, HIDDEN, CLASSES = 256, 512, 100


def build(seed):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.GELU(), nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, CLASSES))
    net = net.npu()
    return net, torch.optim.AdamW(net.parameters(), lr=3e-4), nn.CrossEntropyLoss()


def data(batch):
    return torch.randn(batch, FEATURES).npu(), torch.randint(CLASSES, (batch,)).npu()


def step(net, optimizer, criterion, x, target):
    optimizer.zero_grad(set_to_none=True)
    loss = criterion(net(x), target)
    loss.backward()
    optimizer.step()
    return loss.detach()


def marks(count):
    return [torch.npu.Event(enable_timing=True) for _ in range(count)]


def run(batch):
    net, optimizer, criterion = build(batch)
    x, target = data(batch)
    torch.npu.synchronize()
    fence = marks(STEPS + 1)
    losses = []
    fence[0].record()
    for mark in fence[1:]:
        losses.append(step(net, optimizer, criterion, x, target))
        mark.record()
    torch.npu.synchronize()
    ms = np.array([a.elapsed_time(b) for a, b in zip(fence, fence[1:])])
    assert losses[-1] < losses[0], "it does not learn"
    return {
        "batch": batch,
        "steps": len(ms),
        "ms_per_step": {
            "mean": round(float(ms.mean()), 4),
            "std": round(float(ms.std(ddof=1)), 4),
            "p10": round(float(np.percentile(ms, 10)), 4),
            "p90": round(float(np.percentile(ms, 90)), 4),
        },
        "steps_per_s": round(1e3 / float(ms.mean()), 1),
        "samples_per_s": round(1e3 * batch / float(ms.mean())),
    }


def main():
    document = {
        "benchmark": "training step (zero_grad, forward, backward, AdamW), float32",
        "model": f"{FEATURES}-{HIDDEN}-{CLASSES}, GELU, LayerNorm",
        "clock": "events between the steps, one wait at the end",
        "data": "one resident batch, parameters and batch stay in the L2",
        "results": [run(batch) for batch in BATCHES],
    }
    best = max(document["results"], key=lambda r: r["samples_per_s"])
    document["recommended_batch"] = best["batch"]
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
