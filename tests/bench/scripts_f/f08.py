"""Bandwidth of a scaled copy from HBM: inputs rotate, so that none is in the L2 when it is used again."""
from dataclasses import dataclass, field
import statistics
import torch
import torch_npu


@dataclass
class Result:
    elements: int
    gbps: list = field(default_factory=list)

    def __str__(self):
        low, mid, high = statistics.quantiles(self.gbps, n=4)
        return f"{self.elements:>9} floats: bandwidth {mid:.0f} GB/s (quartiles {low:.0f} and {high:.0f}), from HBM"


for numel, sets in [(2**22, 26), (2**23, 13)]:
    inputs = [torch.ones(numel, device="npu") for _ in range(sets)]  # 400 MB and more; the L2 has 192
    for x in inputs:
        torch.mul(x, 2.0)
    torch.npu.synchronize()
    result, marks = Result(numel), []
    for i in range(3 * sets):
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        a.record()
        y = torch.mul(inputs[i % sets], 2.0)
        b.record()
        marks.append((a, b))
    torch.npu.synchronize()
    result.gbps = [8 * numel / (a.elapsed_time(b) * 1e6) for a, b in marks]
    print(result)
