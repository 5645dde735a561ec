import numpy as np
import torch
import torch_npu


class MatmulBench:
    """Times one matrix product per shape, on a cold L2."""

    def __init__(self, m, k, n, repeats=60):
        self.name = f"{m}x{k}x{n}"
        self.a = torch.ones(m, k, dtype=torch.float16).npu()
        self.b = torch.ones(k, n, dtype=torch.float16).npu()
        self.scratch = torch.empty(64 * 1024 * 1024, dtype=torch.float32, device="npu")  # 256 MB, more than the L2
        self.repeats = repeats
        self.us = None

    def flush(self):
        self.scratch.zero_()

    def run(self):
        events = []
        for _ in range(self.repeats):
            self.flush()
            start, stop = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            start.record()
            torch.matmul(self.a, self.b)
            stop.record()
            events.append((start, stop))
        torch.npu.synchronize()
        self.us = np.array([1000 * a.elapsed_time(b) for a, b in events])
        return self

    def report(self):
        u = self.us
        print(f"{self.name:>15}  mean {u.mean():9.2f}  P50 {np.median(u):7.2f}  P90 {np.percentile(u, 90):7.2f}"
              f"  P99 {np.percentile(u, 99):9.2f}  max {u.max():9.2f} us  (cold L2, n={len(u)})")


for size in [(128, 128, 128), (256, 512, 256), (512, 512, 512)]:
    MatmulBench(*size).run().report()
