# What does a layout change (transpose + contiguous) cost next to a straight copy?
# usage: python at02.py > layout.tsv
import statistics as st
from time import perf_counter

import torch
import torch_npu

N = 512
CALLS = 50
ROUNDS = 9

torch.set_num_threads(1)


def flip(t):
    return t.transpose(0, 1).contiguous()


def copy(t):
    return t.clone()


def loop(fn, t):
    torch.npu.synchronize()
    t0 = perf_counter()
    for _ in range(CALLS):
        fn(t)
    torch.npu.synchronize()
    return (perf_counter() - t0) / CALLS * 1e6


def line(*cells):
    print("\t".join(str(c) for c in cells))


line("dtype", "flip_us", "copy_us", "flip/copy", "rounds", "calls_per_round")
ratios = []
for dtype in (torch.float16, torch.float32):
    t = torch.randn(N, N, device="npu").to(dtype)
    for fn in (flip, copy) * 3:
        fn(t)
    torch.npu.synchronize()

    flips, copies = [], []
    for r in range(ROUNDS):
        if r % 2:
            copies.append(loop(copy, t))
            flips.append(loop(flip, t))
        else:
            flips.append(loop(flip, t))
            copies.append(loop(copy, t))
    f, c = st.median(flips), st.median(copies)
    ratios.append(f / c)
    line(str(dtype).replace("torch.", ""), f"{f:.1f}", f"{c:.1f}", f"{f / c:.2f}", ROUNDS, CALLS)

lo, hi = min(ratios), max(ratios)
line("#", f"a transposed copy of a 2-D tensor costs {lo:.1f} to {hi:.1f} times a straight one, "
          "for tall, flat, small and large matrices alike: use this factor in the layout planner")
