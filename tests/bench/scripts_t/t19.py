"""Do two independent chains of matmuls overlap on two streams?

Both ways run the same two chains on the same data. One trial measures both
ways in random order, wall clock, with a full device wait on both ends.
"""
import random
import statistics
import time

import torch

import labkit  # noqa: F401


class Chains:
    def __init__(self, n, depth=6):
        self.depth = depth
        self.x = [torch.randn(n, n, device="npu", dtype=torch.float16) for _ in range(2)]
        self.w = torch.eye(n, device="npu", dtype=torch.float16)
        self.streams = [torch.npu.Stream() for _ in range(2)]

    def chain(self, i):
        y = self.x[i]
        for _ in range(self.depth):
            y = y @ self.w
        return y

    def serial(self):
        return [self.chain(0), self.chain(1)]

    def overlapped(self):
        res = []
        for i, s in enumerate(self.streams):
            with torch.npu.stream(s):
                res.append(self.chain(i))
        return res


def timed(fn):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    keep = fn()
    torch.npu.synchronize()
    dt = time.perf_counter() - t0
    del keep
    return dt * 1e3


def trial_set(n, trials=9):
    c = Chains(n)
    ways = {"serial": c.serial, "overlapped": c.overlapped}
    for fn in list(ways.values()) * 3:
        timed(fn)
    got = {k: [] for k in ways}
    for _ in range(trials):
        for k in random.sample(list(ways), 2):
            got[k].append(timed(ways[k]))
    return got


random.seed(4)
for n in (64, 128, 256):
    g = trial_set(n)
    ratios = sorted(s / o for s, o in zip(g["serial"], g["overlapped"]))
    lo, hi = ratios[0], ratios[-1]
    say = "two streams shorter" if lo > 1 else "two streams longer" if hi < 1 else "no difference shown"
    print(f"n={n:4d}  serial {statistics.median(g['serial']):7.3f} ms  two streams "
          f"{statistics.median(g['overlapped']):7.3f} ms  ratio {statistics.median(ratios):.2f} "
          f"(range of {len(ratios)} trials {lo:.2f} .. {hi:.2f}): {say}")
