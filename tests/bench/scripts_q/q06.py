"""SiLU in an MLP as one operator or as x * sigmoid(x)? Both in drawn order, pair by pair; the claim is for one shape."""
import argparse
import random

import numpy as np
import torch
import torch_npu  # noqa: F401

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--tokens", type=int, default=512)
parser.add_argument("--hidden", type=int, default=256)
parser.add_argument("--inner", type=int, default=2048)
parser.add_argument("--pairs", type=int, default=50)
parser.add_argument("--seed", type=int, default=11)
args = parser.parse_args()

torch.manual_seed(args.seed)
x = torch.rand(args.tokens, args.hidden).npu()
up, down = torch.rand(args.hidden, args.inner).npu(), torch.rand(args.inner, args.hidden).npu()


def one_operator():
    return torch.nn.functional.silu(x @ up) @ down


def two_operators():
    h = x @ up
    return (h * torch.sigmoid(h)) @ down


def timed(function):
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    function()
    end.record()
    return start, end


torch.testing.assert_close(one_operator().cpu(), two_operators().cpu(), rtol=1e-4, atol=1e-3)
ways = [one_operator, two_operators]
for _ in range(10):
    for way in ways:
        way()
torch.npu.synchronize()

dice, marks = random.Random(args.seed), {way: [] for way in ways}
for _ in range(args.pairs):
    for way in dice.sample(ways, 2):
        marks[way].append(timed(way))
torch.npu.synchronize()

us = {way: np.array([1e3 * s.elapsed_time(e) for s, e in pairs]) for way, pairs in marks.items()}
for way, values in us.items():
    p10, p50, p90 = np.percentile(values, [10, 50, 90])
    print(f"{way.__name__:14} P10 {p10:6.1f}  P50 {p50:6.1f}  P90 {p90:6.1f} us  n={len(values)}")

ratios = us[two_operators] / us[one_operator]
boot = np.random.default_rng(args.seed)
medians = [np.median(boot.choice(ratios, len(ratios))) for _ in range(500)]
low, high = np.percentile(medians, [2.5, 97.5])
shape = f"{args.tokens} x {args.hidden} x {args.inner}, float32, warm L2"
if low <= 1 <= high:
    print(f"{shape}: no difference can be told ({low:.3f} to {high:.3f})")
else:
    print(f"{shape}: two operators take {np.median(ratios):.3f} times as long, 95 % interval {low:.3f} to {high:.3f}; other shapes not tried")
