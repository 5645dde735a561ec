import torch
import torch_npu
from statistics import median, quantiles


class ChainBench:
    """y = sqrt(x**2 + eps), three elementwise launches; timed on the device with events."""

    eps = 1e-6
    pool = 4
    repeats = 20
    chain = 4

    def __init__(self, numel, dtype=torch.float32):
        self.numel, self.dtype = numel, dtype
        self.inputs = [torch.randn(numel, device="npu").to(dtype) for _ in range(self.pool)]

    def run(self, x):
        return (x.pow(2) + self.eps).sqrt()

    def verify(self):
        for x in self.inputs:
            ref = (x.cpu().double() ** 2 + self.eps).sqrt()
            torch.testing.assert_close(self.run(x).cpu().double(), ref, rtol=1e-3, atol=1e-3)
        return self

    def warm(self, n=3):
        for _ in range(n):
            for x in self.inputs:
                self.run(x)
        torch.npu.synchronize()
        return self

    def sample(self):
        a, b = (torch.npu.Event(enable_timing=True) for _ in range(2))
        a.record()
        for i in range(self.chain):
            self.run(self.inputs[i % self.pool])
        b.record()
        b.synchronize()
        return a.elapsed_time(b) * 1e3 / self.chain  # ms -> us

    def measure(self):
        self.samples = [self.sample() for _ in range(self.repeats)]
        return self

    def __str__(self):
        q = quantiles(self.samples, n=20)
        mb = self.pool * self.numel * self.inputs[0].element_size() / 1e6
        return (f"{self.numel:8d} x {str(self.dtype)[6:]:8s} median {median(self.samples):7.2f} us  "
                f"p5 {q[0]:7.2f}  p95 {q[-1]:7.2f}  (4 inputs in turn, {mb:.2f} MB together)")


if __name__ == "__main__":
    print("pow(2) + eps, sqrt: time per chain of three launches, by events round 4 chains (so gaps between launches "
          "are part of it). All inputs together are smaller than the L2: read these as L2-hot figures.")
    for dtype in (torch.float32, torch.float16):
        for numel in (1 << 12, 1 << 16, 1 << 18):
            print(ChainBench(numel, dtype).verify().warm().measure())
