"""GELU, exact (erf) and tanh form, on device events."""
import torch
import torch.nn.functional as F
import torch_npu


class GeluBench:
    forms = ("none", "tanh")

    def __init__(self, shape, dtype=torch.float16, inner=10, blocks=40, seed=0):
        self.shape, self.inner, self.blocks = shape, inner, blocks
        g = torch.Generator().manual_seed(seed)
        self.inputs = [torch.randn(shape, generator=g).to("npu", dtype) for _ in range(4)]
        self.samples = {f: [] for f in self.forms}

    def check(self):
        """Largest distance of each form from float64 erf-GELU; the two are NOT the same function."""
        x = self.inputs[0]
        ref = F.gelu(x.cpu().double())
        self.error = {f: (F.gelu(x, approximate=f).cpu().double() - ref).abs().max().item() for f in self.forms}
        assert all(e < 1e-2 for e in self.error.values()), self.error

    def _block(self, form):
        a, b = (torch.npu.Event(enable_timing=True) for _ in range(2))
        torch.npu.synchronize()
        a.record()
        for i in range(self.inner):
            F.gelu(self.inputs[i % len(self.inputs)], approximate=form)
        b.record()
        torch.npu.synchronize()
        return a.elapsed_time(b) * 1e3 / self.inner

    def run(self):
        self.check()
        for form in self.forms:
            for _ in range(3):
                self._block(form)
        for k in range(self.blocks):
            order = self.forms if k % 2 == 0 else self.forms[::-1]
            for form in order:
                self.samples[form].append(self._block(form))
        return self

    def __str__(self):
        out = []
        for form, v in self.samples.items():
            v = sorted(v)
            p = [v[round(q * (len(v) - 1))] for q in (.1, .5, .9)]
            out.append(f"{str(self.shape):>14}  approximate={form:<5} p50 {p[1]:7.2f} us  (p10 {p[0]:.2f}, p90 {p[2]:.2f})"
                       f"  max err {self.error[form]:.1e}")
        return "\n".join(out)


print("F.gelu float16: microseconds per call in blocks of 10 calls between two events, 40 blocks, order alternating.")
print("Launches that the host issues too slowly show up in this figure. Four inputs in turn, in L2.")
for shape in [(32, 1024), (256, 1024), (512, 2048)]:
    print(GeluBench(shape).run())
print("Listed shapes only; 'none' and 'tanh' differ in their values by the errors shown.")
