"""1x1 convolutions: conv2d, or the same as a matrix product? Pairs, in an order that is tossed for each pair.

asyncio, since our bench server is: a coroutine takes the pairs of one shape and gives way to the server between them.
The device is used by one coroutine at a time (the lock), so pairs of two shapes never meet on it.
"""
import asyncio
import random

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

import labkit

SHAPES = [(2, 64, 64, 28), (4, 64, 128, 28), (2, 128, 64, 56)]  # batch, channels in, channels out, side
PAIRS, WARM = 40, 6


class Problem:
    def __init__(self, batch, cin, cout, side):
        self.name = f"{batch} x {cin} -> {cout}, {side} x {side}"
        self.x = torch.randn(batch, cin, side, side).npu()
        self.weight = torch.randn(cout, cin, 1, 1).npu()
        self.flat = self.weight.view(cout, cin)

    def conv(self):
        return F.conv2d(self.x, self.weight)

    def product(self):
        return torch.matmul(self.flat, self.x.flatten(2)).unflatten(2, self.x.shape[2:])


def mark(call):
    labkit.device.clear_l2()
    torch.npu._sleep(150_000)
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a.record()
    call()
    b.record()
    return a, b


async def pairs(problem, dice, lock):
    ways = [problem.conv, problem.product]
    async with lock:
        torch.testing.assert_close(problem.conv().cpu(), problem.product().cpu(), rtol=1e-3, atol=1e-3)
        for _ in range(WARM):
            for way in ways:
                way()
        rows = []
        for _ in range(PAIRS):
            row = [None, None]
            for which in dice.sample((0, 1), 2):
                row[which] = mark(ways[which])
            rows.append(row)
            await asyncio.sleep(0)
        torch.npu.synchronize()
        return problem.name, np.array([[1e3 * a.elapsed_time(b) for a, b in row] for row in rows])


def interval(ratios, seed=0, times=1000):
    """95 % of the bootstrapped medians."""
    draw = np.random.default_rng(seed).choice(ratios, (times, len(ratios)))
    return np.percentile(np.median(draw, axis=1), [2.5, 97.5])


async def main():
    torch.manual_seed(20)
    dice, lock = random.Random(20), asyncio.Lock()
    found = await asyncio.gather(*(pairs(Problem(*shape), dice, lock) for shape in SHAPES))
    print(f"float32, device time in us, L2 emptied before each call, {PAIRS} pairs; ratio = conv2d / matmul within a pair")
    for name, us in found:
        ratios = us[:, 0] / us[:, 1]
        low, high = interval(ratios)
        (c10, c50, c90), (m10, m50, m90) = np.percentile(us, [10, 50, 90], axis=0).T
        print(f"  {name:24} conv2d {c50:7.2f} [{c10:.2f}, {c90:.2f}]   matmul {m50:7.2f} [{m10:.2f}, {m90:.2f}]"
              f"   ratio {np.median(ratios):.3f} [{low:.3f}, {high:.3f}]")
    print("Said for these three shapes; on others run it again.")


asyncio.run(main())
