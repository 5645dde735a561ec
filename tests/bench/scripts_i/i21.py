"""Matrix product in fp16, with and without bias in the product: what does the bias cost? In per cent."""
import statistics
import torch
import torch_npu

class Case:
    def __init__(self, n):
        self.x = torch.ones(n, n, dtype=torch.float16, device="npu")
        self.b = torch.ones(n, dtype=torch.float16, device="npu")

    def plain(self):
        return self.x @ self.x

    def biased(self):
        return torch.addmm(self.b, self.x, self.x)

    def sample(self, method, k=30):
        for _ in range(5):
            method()
        pairs = [[torch.npu.Event(enable_timing=True) for _ in "ab"] for _ in range(k)]
        for a, b in pairs:
            a.record()
            method()
            b.record()
        torch.npu.synchronize()
        return [a.elapsed_time(b) * 1e3 for a, b in pairs]

for n in (256, 1024):
    case = Case(n)
    saved = {m: case.sample(getattr(case, m)) for m in ("plain", "biased")}
    p, b = (statistics.median(v) for v in saved.values())
    print(f"{n} x {n}: {p:.2f} us and {b:.2f} us, stdev {statistics.stdev(saved['plain']):.3f}: the bias costs {100 * (b / p - 1):+.1f} %")
