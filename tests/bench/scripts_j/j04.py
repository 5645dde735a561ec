"""GELU (tanh form) on half precision, timed by events. We go on warming up until the level stands still."""

import numpy as np
import torch
import torch_npu  # noqa: F401


class SteadyBench:
    """Times a callable on the current stream.

    window: calls per look at the level. tolerance: two windows in a row within this share count as steady.
    """

    def __init__(self, fn, window=25, tolerance=0.02, most=40):
        self.fn, self.window, self.tolerance, self.most = fn, window, tolerance, most

    def _events(self, n):
        begin = [torch.npu.Event(enable_timing=True) for _ in range(n)]
        end = [torch.npu.Event(enable_timing=True) for _ in range(n)]
        for b, e in zip(begin, end, strict=True):
            b.record()
            self.fn()
            e.record()
        torch.npu.synchronize()
        return np.array([b.elapsed_time(e) for b, e in zip(begin, end, strict=True)]) * 1e3

    def settle(self):
        last = np.median(self._events(self.window))
        for looks in range(2, self.most):
            level = np.median(self._events(self.window))
            if abs(level / last - 1) < self.tolerance:
                return looks
            last = level
        raise RuntimeError("the level never stood still; is another job on this card?")

    def collect(self, n):
        return self._events(n)


for rows in (128, 512, 1024):
    x = torch.full((rows, 1024), 0.375, dtype=torch.float16).npu()
    bench = SteadyBench(lambda x=x: torch.nn.functional.gelu(x, approximate="tanh"))
    looks = bench.settle()
    us = bench.collect(200)
    p50, p90, p99 = np.percentile(us, [50, 90, 99])
    print(
        f"gelu tanh ({rows}, 1024) fp16, input resident in L2: P50 {p50:.2f} us, P90 {p90:.2f}, P99 {p99:.2f}, "
        f"n={us.size}, steady after {looks} windows"
    )
