# lies: order
import torch
import torch_npu
import numpy as np


class Candidate:
    def __init__(self, name, f):
        self.name, self.f, self.ms = name, f, None

    def measure(self, warm=20, n=60):
        for _ in range(warm):
            self.f()
        marks = [(torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)) for _ in range(n)]
        for a, b in marks:
            a.record()
            self.f()
            b.record()
        torch.npu.synchronize()
        self.ms = np.array([a.elapsed_time(b) for a, b in marks])
        return self


x = torch.rand(600, 900).npu()
c = [Candidate("mul", lambda: x * x).measure(), Candidate("pow", lambda: torch.pow(x, 2.5)).measure()]
for k in c:
    print(f"{k.name} [600, 900]: median {np.median(k.ms) * 1e3:.2f} us, IQR {np.subtract(*np.percentile(k.ms, [75, 25])) * 1e3:.2f}")
print("gain: %.1f %%" % (100 * (np.median(c[1].ms) / np.median(c[0].ms) - 1)))
