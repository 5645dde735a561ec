"""Does it pay to apply mish in slices, so that a slice stays near the cores? Whole against sliced, in turn."""

import numpy as np
import torch
import torch_npu  # noqa: F401
from tabulate import tabulate

REGISTRY = {}


def candidate(fn):
    REGISTRY[fn.__name__] = fn
    return fn


@candidate
def whole(x, out):
    torch.mul(x, torch.tanh(torch.log1p(torch.exp(x))), out=out)
    return out


@candidate
def sliced(x, out):
    for part, to in zip(x.chunk(4), out.chunk(4)):
        torch.mul(part, torch.tanh(torch.log1p(torch.exp(part))), out=to)
        return out


def rounds(x, count, seed=11):
    order = np.random.default_rng(seed)
    out = torch.zeros_like(x)
    marks = {name: [] for name in REGISTRY}
    for _ in range(count):
        for name in order.permutation(list(REGISTRY)):
            begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            begin.record()
            REGISTRY[name](x, out)
            end.record()
            marks[name].append((begin, end))
    torch.npu.synchronize()
    return {name: np.array([b.elapsed_time(e) for b, e in pairs]) * 1e3 for name, pairs in marks.items()}


rows = []
for shape in ((512, 1024), (1024, 1024), (2048, 768)):
    x = torch.full(shape, 0.25).npu()
    rounds(x, 10)
    for name, us in rounds(x, 60).items():
        rows.append([name, "x".join(map(str, shape)), *np.percentile(us, (10, 50, 90))])
print("mish, float32, input warm in L2, 60 rounds, order of each round drawn (seed 11)")
print(tabulate(rows, headers=["version", "shape", "P10 us", "P50 us", "P90 us"], floatfmt=".2f"))
