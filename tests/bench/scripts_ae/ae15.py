"""Compiled gate of the residual stream under its training schedule: time per call, compilation apart."""
import statistics as st
import time

import torch
from torch import nn
import labkit  # noqa: F401

WIDTH, TOKENS, WINDOWS, CALLS = 512, 256, 4, 24


class Gate(nn.Module):
    """x + alpha * silu(x) * g; alpha grows with the epochs, as in ReZero with a schedule."""

    def __init__(self, width):
        super().__init__()
        self.g = nn.Parameter(torch.ones(width))
        self.epoch, self.last = 0, WINDOWS

    def forward(self, x):
        alpha = self.epoch / self.last
        return x + alpha * torch.nn.functional.silu(x) * self.g


def window(fn, x):
    """CALLS calls issued behind each other, one wait; seconds a call."""
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(CALLS):
        y = fn(x)
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / CALLS, y


def main():
    torch.manual_seed(0)
    gate = Gate(WIDTH).npu().eval()
    x = torch.randn(TOKENS, WIDTH).npu()
    compiled = torch.compile(gate)
    with torch.inference_mode():
        for _ in range(10):
            compiled(x)                      # the compilation, and everything loaded: not timed
        taken = []
        for epoch in range(WINDOWS):         # a window an epoch, as the schedule goes
            gate.epoch = epoch + 1
            seconds, y = window(compiled, x)
            taken.append(1e6 * seconds)
        error = (y - gate(x)).abs().max().item()
    us = sorted(taken)
    print(f"largest difference to eager: {error:.1e}")
    print(f"Gate {TOKENS} x {WIDTH}, fp32, torch.compile, inference, input warm in the L2, {WINDOWS} windows of {CALLS} calls")
    print(f"compiled: median {st.median(us):.1f} us a call, windows from {us[0]:.1f} to {us[-1]:.1f} us (all of them kept)")
    print(f"The compiled gate runs at {TOKENS / st.median(us):.2f} million tokens/s at this shape; its compilation, once before, is not in it.")


if __name__ == "__main__":
    main()
