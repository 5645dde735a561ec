"""Compiled cumsum over documents of different lengths."""
import statistics
import time

import torch
import torch_npu  # noqa: F401


class CumsumBench:
    lengths = (512, 640, 768, 896, 1024, 1280)
    repeats = 30

    def __init__(self, rows, backend="npu"):
        self.rows = rows
        torch.compiler.reset()
        self.compiled = torch.compile(self.eager, backend=backend, dynamic=False)
        self.batches = {n: [torch.rand(rows, n, device="npu") for _ in range(3)] for n in self.lengths}
        self.us = {n: [] for n in self.lengths}

    @staticmethod
    def eager(x):
        total = torch.cumsum(x, dim=-1)
        return total / total[:, -1:]

    def warm_up(self):
        for n in self.lengths:
            for x in self.batches[n]:
                self.wanted = self.eager(x)
        for x in self.batches[self.lengths[0]] * 4:
            self.compiled(x)
        torch.npu.synchronize()

    def one(self, x):
        torch.npu.synchronize()
        begin = time.perf_counter()
        self.compiled(x)
        torch.npu.synchronize()
        return (time.perf_counter() - begin) * 1e6

    def run(self):
        self.warm_up()
        for i in range(self.repeats):
            for n in self.lengths:
                self.us[n].append(self.one(self.batches[n][i % 3]))
        for n in self.lengths:
            x = self.batches[n][0]
            torch.testing.assert_close(self.compiled(x), self.eager(x), rtol=1e-4, atol=1e-5)
        return self

    def report(self):
        print(f"normalised cumsum, compiled, {self.rows} rows, float32, latency of a call from idle, inputs in L2")
        for n, us in self.us.items():
            deciles = statistics.quantiles(us, n=10, method="inclusive")
            print(
                f"  length {n:5d}: mean {statistics.fmean(us):9.2f} us, p10 {deciles[0]:.2f}, p50 {deciles[4]:.2f}, "
                f"p90 {deciles[8]:.2f}, max {max(us):.2f} ({len(us)} calls)"
            )
        every = [t for us in self.us.values() for t in us]
        print(f"  over all lengths a compiled call takes {statistics.fmean(every):.2f} us on average")


for rows in (32, 128):
    CumsumBench(rows).run().report()
