"""SiLU gate of a Llama MLP, out = silu(gate) * up: two operators, or one fused."""
import torch
import torch.nn.functional as F
import torch_npu


class GateBench:
    rounds = 20
    warmup = 3

    def __init__(self, tokens, hidden):
        self.shape = (tokens, hidden)
        self.samples = {"silu, mul": [], "npu_swiglu": []}
        self.ways = {"silu, mul": self.separate, "npu_swiglu": self.fused}

    def setup(self):
        tokens, hidden = self.shape
        torch.manual_seed(tokens)
        l2 = torch.npu.get_device_properties(0).L2_cache_size
        size = tokens * hidden * 2 * 2
        data = torch.randn(tokens, 2 * hidden).to(torch.bfloat16)
        self.pool = [data.roll(i, 0).to("npu") for i in range(-(-2 * l2 // size))]
        return self

    @staticmethod
    def separate(x):
        gate, up = x.chunk(2, dim=-1)
        return F.silu(gate) * up

    @staticmethod
    def fused(x):
        return torch_npu.npu_swiglu(x, dim=-1)

    def check(self):
        a, b = (way(self.pool[0]).float().cpu() for way in self.ways.values())
        torch.testing.assert_close(a, b, rtol=2e-2, atol=2e-2)
        return float((a - b).abs().max())

    def once(self, way, x):
        begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        torch.npu.synchronize()
        begin.record()
        way(x)
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3

    def run(self):
        turn = 0
        for i in range(self.warmup + self.rounds):
            names = list(self.ways) if i % 2 == 0 else list(self.ways)[::-1]
            for name in names:  # every call meets the buffer that was touched longest ago
                us = self.once(self.ways[name], self.pool[turn % len(self.pool)])
                turn += 1
                if i >= self.warmup:
                    self.samples[name].append(us)
        return self

    def report(self, worst):
        print(f"{self.shape[0]} tokens, hidden {self.shape[1]}, bf16: {len(self.pool)} inputs in turn (twice the L2), "
              f"largest difference of the results {worst:.3g}")
        for name, us in self.samples.items():
            q = torch.quantile(torch.tensor(us), torch.tensor([0.1, 0.5, 0.9]))
            print(f"    {name:<11} {q[1]:8.2f} us median, p10..p90 {q[0]:.2f}..{q[2]:.2f}, n={len(us)}")


print("time between two events around one call (us): device time and whatever the device waits for launches")
for shape in [(256, 5504), (512, 5504), (512, 8192)]:
    bench = GateBench(*shape).setup()
    bench.run().report(bench.check())
