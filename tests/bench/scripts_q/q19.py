"""silu(x) against x * sigmoid(x) over many shapes, float16, by torch.utils.benchmark; blocks of both in turn."""
import random

import numpy as np
import torch
import torch_npu  # noqa: F401
from torch.utils.benchmark import Timer

dice = random.Random(42)
DRAWN = [(dice.choice([1, 7, 64, 500]), dice.choice([33, 256, 1000, 4096])) for _ in range(4)]
SHAPES = sorted({(1, 1), (64, 64), (512, 512), (1024, 1024), (1024, 2048), *DRAWN}, key=lambda s: s[0] * s[1])
WAYS = {"silu": "torch.nn.functional.silu(x)", "x * sigmoid(x)": "x * torch.sigmoid(x)"}
ROUNDS, CALLS = 9, 10


def same(x):
    one, two = torch.nn.functional.silu(x).float().cpu(), (x * torch.sigmoid(x)).float().cpu()
    return torch.allclose(one, two, rtol=4e-3, atol=4e-3)


def sample(x):
    """us a call, a row for each round, a column for each way."""
    timers = [Timer(statement, globals={"torch": torch, "x": x}) for statement in WAYS.values()]
    for timer in timers:
        timer.timeit(CALLS)
    rows = []
    for _ in range(ROUNDS):
        row = [0.0, 0.0]
        for index in dice.sample((0, 1), 2):
            row[index] = timers[index].timeit(CALLS).mean * 1e6
        rows.append(row)
    return np.array(rows)


torch.manual_seed(0)
print(f"median us a call (smallest to largest of {ROUNDS} blocks of {CALLS}); one wait a block; the input stays in the L2")
ratios = {}
for shape in SHAPES:
    x = torch.randn(shape).half().npu()
    assert same(x), f"the two differ at {shape}"
    us = sample(x)
    ratios[shape] = np.percentile(us[:, 1] / us[:, 0], [10, 50, 90])
    cells = [f"{np.median(c):6.1f} ({c.min():5.1f} to {c.max():5.1f})" for c in us.T]
    low, mid, high = ratios[shape]
    print(f"{shape[0]:5} x {shape[1]:<5} silu {cells[0]}   x * sigmoid(x) {cells[1]}   ratio {mid:.2f} ({low:.2f} to {high:.2f})")
clear = {shape: r[1] for shape, r in ratios.items() if r[0] > 1.02}
print(f"silu is faster at {len(clear)} of {len(ratios)} shapes, by {min(clear.values()):.2f} to {max(clear.values()):.2f} times: "
      "the gain depends on the shape" if clear else "no difference can be told at any shape")
