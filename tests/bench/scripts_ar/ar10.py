# Copy with the first two dimensions swapped: contiguous() against clone() -- torch.utils.benchmark.
import itertools
import time

import torch
import torch.utils.benchmark as tb
import torch_npu

SHAPE = (8, 512, 1024)      # layers, tokens, width
GROUPS, PER_GROUP, ROUNDS = 7, 3, 14


def now():
    torch.npu.synchronize()
    return time.perf_counter()


def via_contiguous(x):
    return x.transpose(0, 1).contiguous()


def via_clone(x):
    return x.transpose(0, 1).clone(memory_format=torch.contiguous_format)


CANDIDATES = {"transpose().contiguous()": via_contiguous, "transpose().clone()": via_clone}


def timer(fn, group):
    feed = itertools.cycle(group)
    return tb.Timer("fn(next(feed))", globals={"fn": fn, "feed": feed}, timer=now)


def main():
    # 21 tensors of 16 MiB: more than the 192 MB of L2
    groups = [[torch.randn(SHAPE, device="npu") for _ in range(PER_GROUP)] for _ in range(GROUPS)]
    x = groups[0][0]
    assert torch.equal(via_contiguous(x), via_clone(x))
    for fn in CANDIDATES.values():
        for g in groups[:2]:
            timer(fn, g).timeit(1)

    times = {name: [] for name in CANDIDATES}
    for r in range(ROUNDS):
        group = groups[r % GROUPS]
        for name, fn in CANDIDATES.items():
            times[name].append(timer(fn, group).timeit(1).times[0] * 1e6)

    print(f"transposed copy of the first two dimensions of {SHAPE} fp32, issue and wait included, {ROUNDS} rounds")
    mid = {}
    for name, t in times.items():
        t.sort()
        mid[name] = t[len(t) // 2]
        print(f"  {name:24s} median {mid[name]:8.2f} us  (min {t[0]:.2f}, max {t[-1]:.2f})")
    a, b = mid.values()
    print(f"transpose().clone() needs {b / a:.2f} of the time of transpose().contiguous() for this size")


main()
