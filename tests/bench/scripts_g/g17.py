# Sigmoid throughput on its own stream, so that the default stream stays free for the copies of the next batch.
from time import perf_counter

import numpy as np
import torch
import torch_npu  # noqa: F401


class Stopwatch:
    def __init__(self):
        self.laps = []

    def __enter__(self):
        torch.npu.current_stream().synchronize()
        self._begin = perf_counter()
        return self

    def __exit__(self, *_):
        torch.npu.current_stream().synchronize()
        self.laps.append(perf_counter() - self._begin)


class SigmoidBench:
    calls = 20
    rounds = 20

    def __init__(self, *shape):
        self.x = torch.rand(shape).npu()
        self.y = torch.empty_like(self.x)
        self.side = torch.npu.Stream()
        torch.npu.synchronize()

    def enqueue(self):
        with torch.npu.stream(self.side):
            for _ in range(self.calls):
                torch.sigmoid(self.x, out=self.y)

    def run(self):
        self.enqueue()  # warm-up
        torch.npu.synchronize()
        watch = Stopwatch()
        for _ in range(self.rounds):
            with watch:
                self.enqueue()
        return np.array(watch.laps) / self.calls

    def report(self):
        seconds = self.run()
        p10, p50, p90 = np.percentile(seconds, [10, 50, 90])
        print(
            f"sigmoid float32 {tuple(self.x.shape)} (warm L2): p50 {p50 * 1e6:.1f} us, p10 {p10 * 1e6:.1f}, p90 {p90 * 1e6:.1f}"
            f" over {self.rounds} rounds of {self.calls}; {self.x.numel() / p50 / 1e9:.1f} G elements/s"
        )


for shape in ((2048, 1024), (2048, 2048), (4096, 1024)):
    SigmoidBench(*shape).report()
