"""Cost of one SGD-with-momentum update for a few model sizes, as JSON."""
import json
import time

import numpy as np
import torch
import torch_npu

BLOCKS, STEPS = 10, 5
MODELS = {"small": [(256, 256)] * 4, "wide": [(1024, 512)] * 2, "deep": [(128, 128)] * 16}


def build(shapes):
    torch.manual_seed(0)
    params = [torch.nn.Parameter(torch.randn(s).npu()) for s in shapes]
    grads = [torch.randn(s) * 1e-3 for s in shapes]
    return params, grads, torch.optim.SGD(params, lr=1e-2, momentum=0.9)


def update(params, grads, optimizer):
    for p, g in zip(params, grads):
        p.grad = g.to(p.device)
    optimizer.step()


def measure(shapes):
    params, grads, optimizer = build(shapes)
    for _ in range(6):
        update(params, grads, optimizer)
    torch.npu.synchronize()
    samples = []
    for _ in range(BLOCKS):
        t0 = time.perf_counter()
        for _ in range(STEPS):
            update(params, grads, optimizer)
        torch.npu.synchronize()
        samples.append((time.perf_counter() - t0) / STEPS * 1e6)
    p10, p50, p90 = np.percentile(samples, [10, 50, 90])
    return {
        "parameters": int(sum(p.numel() for p in params)),
        "tensors": len(params),
        "optimizer_step_us": {"p10": round(p10, 1), "p50": round(p50, 1), "p90": round(p90, 1), "blocks": BLOCKS},
        "parameters_per_us": round(sum(p.numel() for p in params) / p50, 1),
    }


print(json.dumps({
    "optimizer": "SGD(momentum=0.9)",
    "dtype": "float32",
    "l2": "warm, parameters stay on the device",
    "models": {name: measure(shapes) for name, shapes in MODELS.items()},
}, indent=1))
