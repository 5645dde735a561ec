import labkit
import numpy as np
import torch


class BmmBenchmark:
    """Batched matmul in half precision, as our expert layers use it."""

    warm, samples = 20, 80

    def __init__(self, batch, m, k, n, dtype=torch.float16):
        self.batch, self.m, self.k, self.n, self.dtype = batch, m, k, n, dtype
        self.sets = [self.operands() for _ in range(3)]
        self.times = None

    def operands(self):
        a = torch.randn(self.batch, self.m, self.k, device="npu")
        b = torch.randn(self.batch, self.k, self.n, device="npu")
        for operand in (a, b):
            operand = operand.to(self.dtype)
        return a, b

    def check(self):
        a, b = self.sets[0]
        exact = torch.bmm(a.cpu().double(), b.cpu().double())
        assert (torch.bmm(a, b).cpu().double() - exact).abs().max() < 0.5

    def run(self):
        for i in range(self.warm):
            torch.bmm(*self.sets[i % 3])
        events = [(torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)) for _ in range(self.samples)]
        for i, (begin, end) in enumerate(events):
            begin.record()
            torch.bmm(*self.sets[i % 3])
            end.record()
        torch.npu.synchronize()
        self.times = np.array([begin.elapsed_time(end) * 1e3 for begin, end in events])
        return self

    def report(self):
        p25, p50, p75 = np.percentile(self.times, [25, 50, 75])
        tflops = 2 * self.batch * self.m * self.k * self.n / p50 / 1e6
        name = str(self.dtype).removeprefix("torch.")
        return (
            f"bmm {self.batch} x ({self.m} x {self.k}) @ ({self.k} x {self.n}), {name}: median {p50:.2f} us "
            f"(P25 {p25:.2f}, P75 {p75:.2f}, {self.samples} samples), {tflops:.1f} TFLOP/s"
        )


torch.manual_seed(19)
print("three operand sets in turn, warm L2, device time by events")
for size in (16, 256, 256, 256), (8, 256, 512, 256), (24, 256, 256, 256):
    bench = BmmBenchmark(*size)
    bench.check()
    print(bench.run().report())
print("These are the half-precision rates of the cube units at the sizes of our expert layers.")
