"""npu_swiglu against silu(a) * b: should the model library switch?"""
import random
import statistics as st

import torch
import torch.nn.functional as F
import torch_npu

PAIRS = 120


class Pairwise:
    """Both candidates in each round, who goes first is drawn; times are the device's own."""

    def __init__(self, seed, **candidates):
        self.draw, self.candidates = random.Random(seed), candidates

    def run(self, pairs):
        for call in self.candidates.values():
            for _ in range(40):
                call()
        torch.npu.synchronize()
        marks = {name: [] for name in self.candidates}
        for _ in range(pairs):
            order = list(self.candidates)
            self.draw.shuffle(order)
            for name in order:
                begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
                begin.record()
                self.candidates[name]()
                end.record()
                marks[name].append((begin, end))
        torch.npu.synchronize()
        return {name: [1e3 * a.elapsed_time(b) for a, b in pairs] for name, pairs in marks.items()}


torch.manual_seed(2)
both = torch.randn(256, 1024, device="npu").half()
gate, value = both.chunk(2, dim=-1)
gate, value = gate.contiguous(), value.contiguous()

torch.testing.assert_close(torch_npu.npu_swiglu(both).cpu(), (F.silu(gate) * value).cpu(), rtol=1e-2, atol=1e-2)
us = Pairwise(3, fused=lambda: torch_npu.npu_swiglu(both), composed=lambda: F.silu(gate) * value).run(PAIRS)

for name, values in us.items():
    deciles = st.quantiles(values, n=10)
    print(f"{name:<9} median {st.median(values):6.2f} us   p10 {deciles[0]:6.2f}   p90 {deciles[-1]:6.2f}   n={len(values)}")
ratios = sorted(c / f for c, f in zip(us["composed"], us["fused"]))
gain = st.median(ratios)
print(f"composed / fused, pair by pair: median {gain:.2f}, p10 {ratios[PAIRS // 10]:.2f}, p90 {ratios[-PAIRS // 10]:.2f}, "
      f"n={len(ratios)}, L2 warm")
if ratios[PAIRS // 10] > 1:
    print(f"npu_swiglu is {gain:.1f} times as fast as silu(a) * b: replace it in every feed-forward layer of the library.")
