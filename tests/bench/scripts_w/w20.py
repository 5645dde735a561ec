"""Row softmax in float32, float16 and bfloat16: what does the narrower type give at our shape, and what does it cost?"""
import random
from contextlib import contextmanager
from statistics import median, quantiles

import torch
import torch_npu

ROWS, WIDTH = 2048, 1024
ROUNDS, CALLS = 30, 4
TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


class Candidate:
    def __init__(self, name, host):
        self.name = name
        self.x = host.to(TYPES[name]).npu()
        self.marks = []

    def run(self):
        return torch.softmax(self.x, dim=-1)

    @contextmanager
    def between_marks(self):
        pair = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        pair[0].record()
        yield
        pair[1].record()
        self.marks.append(pair)

    def sample(self):
        with self.between_marks():
            for _ in range(CALLS):
                out = self.run()
        assert out.dtype is TYPES[self.name] and out.shape == (ROWS, WIDTH)

    def times(self):
        return [1e3 * start.elapsed_time(end) / CALLS for start, end in self.marks]


def main():
    torch.manual_seed(0)
    random.seed(0)
    host = 2 * torch.randn(ROWS, WIDTH)
    exact = torch.softmax(host.double(), dim=-1)
    candidates = [Candidate(name, host) for name in TYPES]

    off = {}
    for candidate in candidates:
        off[candidate.name] = (candidate.run().cpu().double() - exact).abs().max().item()
        assert off[candidate.name] < 1e-2
        for _ in range(5):
            candidate.sample()
        candidate.marks.clear()

    torch.npu.synchronize()
    busy = torch.zeros(4096, 2048, device="npu")
    for _ in range(ROUNDS):
        busy.add_(1)  # gives the queue a start, so that the host stays ahead
        for candidate in random.sample(candidates, len(candidates)):
            candidate.sample()
    torch.npu.synchronize()

    us = {candidate.name: candidate.times() for candidate in candidates}
    print(f"softmax over rows, {ROWS} x {WIDTH}, input on the card and used before (it fits the L2)")
    print(f"stream time of a call, {ROUNDS} samples of {CALLS} calls, types in drawn order in each round")
    for name, values in us.items():
        deciles = quantiles(values, n=10)
        against = [value / wide for value, wide in zip(values, us["float32"])]
        spread = quantiles(against, n=10)
        print(f"{name:9} P50 {median(values):6.2f} us  P10 {deciles[0]:6.2f}  P90 {deciles[-1]:6.2f}   "
              f"to float32 in the same round {median(against):.2f} ({spread[0]:.2f} to {spread[-1]:.2f})   "
              f"largest error {off[name]:.1e}")


if __name__ == "__main__":
    main()
