"""Cumulative sum: warm up until two windows agree, rotate the inputs, count the outliers but keep them."""

from itertools import cycle, islice

import numpy as np
import torch
import torch_npu  # noqa: F401


class EventTimer:
    def __init__(self, function, sets):
        self.function, self.sets = function, cycle(sets)

    def take(self, count):
        spans = []
        for x in islice(self.sets, count):
            spans.append((torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)))
            spans[-1][0].record()
            self.function(x)
            spans[-1][1].record()
        torch.npu.synchronize()
        return 1e3 * np.array([start.elapsed_time(stop) for start, stop in spans])

    def settle(self, window=20, tolerance=0.05, limit=15):
        before = np.median(self.take(window))
        for number in range(1, limit):
            now = np.median(self.take(window))
            if abs(now - before) <= tolerance * before:
                return (number + 1) * window
            before = now
        return limit * window


def bootstrap(us, draws=2000):
    generator = np.random.default_rng(0)
    picks = generator.integers(0, len(us), (draws, len(us)))
    return np.percentile(np.median(us[picks], axis=1), [2.5, 97.5])


for rows, cols in ((256, 1024), (1024, 512), (512, 2048)):
    sets = [torch.rand(rows, cols).npu() for _ in range(16)]
    timer = EventTimer(lambda x: torch.cumsum(x, dim=-1), sets)
    warm = timer.settle()
    us = timer.take(240)
    low, high = bootstrap(us)
    centre = np.median(us)
    far = int((np.abs(us - centre) > 5 * np.median(np.abs(us - centre))).sum())
    print(
        f"cumsum float32 ({rows}, {cols}), {len(sets)} inputs in turn, {len(sets) * rows * cols * 4 >> 20} MiB together"
    )
    print(
        f"    median {centre:.2f} us, 95 % interval {low:.2f} to {high:.2f}; P90 {np.percentile(us, 90):.2f}, P99 {np.percentile(us, 99):.2f}"
    )
    print(f"    {len(us)} samples behind {warm} of warm-up; {far} lie far out and are counted in all figures")
