"""Fused SwiGLU gate: what torch.compile buys over eager mode. One row per repeat."""

import statistics
import time

import torch
import torch_npu  # noqa: F401

ROWS, WIDTH, CALLS, REPEATS = 512, 2048, 30, 8


class Gate(torch.nn.Module):
    def forward(self, up, gate):
        return up * gate * torch.sigmoid(gate)


class Stopwatch:
    """Host time of a block; the device is idle at both ends."""

    def __enter__(self):
        torch.npu.synchronize()
        self.begin = time.perf_counter()
        return self

    def __exit__(self, *exc):
        torch.npu.synchronize()
        self.us = (time.perf_counter() - self.begin) * 1e6


def main():
    up = torch.full((ROWS, WIDTH), 0.5).npu()
    gate = torch.full((ROWS, WIDTH), 0.25).npu()
    eager = Gate()
    for _ in range(20):  # the kernels are loaded now
        eager(up, gate)
    torch.npu.synchronize()

    per_call = []
    for _ in range(REPEATS):
        torch._dynamo.reset()  # no repeat may profit from the one before
        with Stopwatch() as watch:
            fast = torch.compile(eager, backend="aot_eager")
            for _ in range(CALLS):
                fast(up, gate)
        per_call.append(watch.us / CALLS)

    print(f"compiled SwiGLU gate, ({ROWS}, {WIDTH}) float32, inputs warm in L2, {REPEATS} repeats of {CALLS} calls")
    q = statistics.quantiles(per_call, n=10)
    print(f"us per call: P10 {q[0]:.1f}  P50 {statistics.median(per_call):.1f}  P90 {q[8]:.1f}")


main()
