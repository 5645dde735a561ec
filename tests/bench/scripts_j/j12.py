"""Cost of one step of an LSTM-like cell, unrolled as a generator so that callers may stop early."""

import time

import numpy as np
import torch
import torch_npu  # noqa: F401


def unroll(x, h, steps):
    """Yields the state behind each step."""
    for _ in range(steps):
        h = torch.tanh(x + h)
        yield h


class Timed:
    def __init__(self, clock=time.perf_counter_ns):
        self.clock, self.us = clock, []

    def __enter__(self):
        torch.npu.synchronize()
        self.t = self.clock()

    def __exit__(self, *_):
        torch.npu.synchronize()
        self.us.append((self.clock() - self.t) / 1e3)


STEPS = 32
for batch in (64, 256):
    x = torch.full((batch, 512), 0.125).npu()
    h0 = torch.zeros(batch, 512).npu()
    for _ in range(5):
        for state in unroll(x, h0, STEPS):
            pass
    timed = Timed()
    for _ in range(100):
        with timed:
            states = unroll(x, h0, STEPS)
    per_step = np.array(timed.us) / STEPS
    q = np.percentile(per_step, [50, 90, 99])
    print(
        f"cell ({batch}, 512) fp32, {STEPS} steps a sample, 100 samples, state warm in L2: "
        f"P50 {q[0]:.2f}  P90 {q[1]:.2f}  P99 {q[2]:.2f} us a step"
    )
