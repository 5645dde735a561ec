"""The hand-written SiLU kernel (one slot, two slots) over a few lengths."""
import os

import numpy as np
import torch
import torch_npu
import labkit


class KernelBench:
    def __init__(self, path, blocks=24, warmup=5, samples=20, launches=5):
        self.path, self.blocks, self.warmup, self.samples, self.launches = path, blocks, warmup, samples, launches
        self.rows = []

    def check(self, kernel, x, y):
        kernel[self.blocks](x, y, x.numel())
        want = torch.nn.functional.silu(x.cpu())
        torch.testing.assert_close(y.cpu(), want, rtol=1e-4, atol=1e-5)

    def run(self, kernels, n):
        x = torch.linspace(-4, 4, n).npu()
        y = torch.empty_like(x)
        for kernel in kernels.values():
            self.check(kernel, x, y)
            for _ in range(self.warmup):
                kernel[self.blocks](x, y, n)
        marks = {name: [] for name in kernels}
        rng = np.random.default_rng(n)
        for _ in range(self.samples):
            for name in rng.permutation(list(kernels)):
                a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
                a.record()
                for _ in range(self.launches):
                    kernels[name][self.blocks](x, y, n)
                b.record()
                marks[name].append((a, b))
        torch.npu.synchronize()
        for name, pairs in marks.items():
            us = [1e3 * a.elapsed_time(b) / self.launches for a, b in pairs]
            self.rows.append((n, name, min(us), *np.percentile(us, [50, 99])))

    def show(self):
        print(f"silu.asc, {self.blocks} blocks, float32, {self.samples} samples of {self.launches} launches, shuffled order, x and y stay in L2")
        print(f"{'n':>8} {'kernel':10} {'min':>8} {'median':>8} {'P99':>8}  us")
        for n, name, low, mid, high in self.rows:
            print(f"{n:8} {name:10} {low:8.2f} {mid:8.2f} {high:8.2f}")


if __name__ == "__main__":
    source = "kernels/silu/silu.asc"
    kernels = {f"{s} slot(s)": labkit.kernel(source, entry=f"silu<{s}>") for s in (1, 2)}
    bench = KernelBench(source)
    for n in (1 << 20, 1_500_003, 1 << 21):
        bench.run(kernels, n)
    bench.show()
