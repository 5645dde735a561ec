"""torch.topk against a full sort and a slice, as a report in Markdown."""
import time

import numpy as np
import torch
import torch_npu

K = 8
ROUNDS = 24
SHAPES = [(64, 1024), (256, 512)]
scratch = torch.empty(52 << 20, device="npu")  # 208 MiB, more than the L2 holds


def by_sort(x):
    return torch.sort(x, dim=-1, descending=True).values[:, :K]


def by_topk(x):
    return torch.topk(x, K, dim=-1).values


def once(f, x):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    f(x)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6


def rounds(shape):
    x = torch.randn(shape, device="npu")
    assert torch.equal(by_sort(x), by_topk(x))
    for _ in range(6):
        by_sort(x)
        by_topk(x)
    for _ in range(ROUNDS):
        x = torch.randn(shape, device="npu")
        scratch.zero_()
        yield once(by_sort, x), once(by_topk, x)


def cell(t):
    return f"{np.median(t):.2f} ({np.percentile(t, 25):.2f} .. {np.percentile(t, 75):.2f})"


print(f"## The {K} largest of each row\n")
print(f"Issue to completion in us, float32, median and quartiles of {ROUNDS} rounds; a new input and a flushed L2 for each")
print("round; both give the same values.\n")
print("| shape | sort, slice | topk | sort / topk |")
print("|---|---|---|---|")
for shape in SHAPES:
    pairs = np.array(list(rounds(shape)))
    print(f"| {shape[0]} x {shape[1]} | {cell(pairs[:, 0])} | {cell(pairs[:, 1])} | {cell(pairs[:, 0] / pairs[:, 1])} |")
print("\nThe last column, taken round by round, is what the full sort costs over topk for these two shapes;\na range that holds 1 is no difference.")
