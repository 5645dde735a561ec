import torch
import torch_npu
from contextlib import contextmanager

import numpy as np


class Lane:
    """A stream with a stopwatch that the stream itself reads."""

    def __init__(self):
        self.stream = torch.npu.Stream()
        self.laps = []

    @contextmanager
    def lap(self):
        start = torch.npu.Event(enable_timing=True)
        end = torch.npu.Event(enable_timing=True)
        with torch.npu.stream(self.stream):
            start.record(self.stream)
            yield
            end.record(self.stream)
        self.laps.append((start, end))

    def microseconds(self):
        self.laps[-1][1].synchronize()
        return np.array([start.elapsed_time(end) * 1e3 for start, end in self.laps])


def main():
    torch.set_num_threads(1)
    torch.manual_seed(10)
    m, k, n = 256, 512, 512
    samples, calls = 40, 4
    a = torch.randn(m, k, dtype=torch.float16).npu()
    b = (torch.randn(k, n) / k**0.5).half().npu()
    c = torch.empty(m, n, dtype=torch.float16).npu()

    lane = Lane()
    lane.stream.wait_stream(torch.npu.current_stream())
    for _ in range(5):
        with lane.lap():
            for _ in range(calls):
                torch.matmul(a, b, out=c)
    lane.microseconds()
    lane.laps.clear()

    for _ in range(samples):
        with lane.lap():
            for _ in range(calls):
                torch.matmul(a, b, out=c)
    us = lane.microseconds() / calls

    torch.npu.current_stream().wait_stream(lane.stream)
    torch.testing.assert_close(c.cpu().float(), a.cpu().float() @ b.cpu().float(), rtol=1e-2, atol=1e-2)
    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    print(f"matmul {m} x {k} by {k} x {n}, float16, on a stream of its own that nothing else uses; operands in the L2")
    print(f"device time per call from events of that stream: P10 {p10:.2f} us, P50 {p50:.2f} us, P90 {p90:.2f} us")
    print(f"{us.size} samples of {calls} calls each, 20 calls to warm up, result checked against the CPU")


main()
