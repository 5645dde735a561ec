import math
import time
from dataclasses import dataclass, field

import torch
import torch_npu

PEAK = {torch.float16: 363.7, torch.bfloat16: 363.7}  # TFLOP/s, 24 cube cores x 8192 FLOP x 1.85 GHz


@dataclass
class Sweep:
    dtype: torch.dtype
    n: int = 192
    calls: int = 3
    laps: list[float] = field(default_factory=list)

    def __post_init__(self):
        g = torch.Generator().manual_seed(7)
        self.a = torch.randn(self.n, self.n, generator=g).to("npu", self.dtype)
        self.b = torch.randn(self.n, self.n, generator=g).to("npu", self.dtype)

    def lap(self):
        t = time.perf_counter()
        for _ in range(self.calls):
            self.a @ self.b
        torch.npu.synchronize()
        return (time.perf_counter() - t) / self.calls

    @property
    def name(self):
        return str(self.dtype).split(".")[1]

    def at(self, share):
        """Nearest rank."""
        return sorted(self.laps)[max(0, math.ceil(share * len(self.laps)) - 1)]

    @property
    def tflops(self):
        return 2 * self.n**3 / self.at(0.5) / 1e12


sweeps = [Sweep(d) for d in (torch.float32, torch.float16, torch.bfloat16)]
for s in sweeps:
    s.lap(), s.lap()
for _ in range(12):
    for s in sweeps:
        s.laps.append(s.lap())

n = sweeps[0].n
print(f"Hello! I multiplied two {n} x {n} matrices in three formats, taking turns so that no format got the cool chip to itself.")
print(f"One lap is {sweeps[0].calls} products and a single wait at its end; I did {len(sweeps[0].laps)} laps each after two that I threw away.")
for s in sweeps:
    line = f"A product in {s.name} takes {s.at(0.5) * 1e6:.1f} us if you ask the median lap and {s.at(0.9) * 1e6:.1f} us if you ask the 90th percentile;"
    line += f" that makes {s.tflops:.4f} TFLOP/s."
    if s.dtype in PEAK:
        line += f" On paper the chip could do {PEAK[s.dtype]:.0f} in this format (I did not measure that), so we are at {s.tflops / PEAK[s.dtype]:.4%} of it."
    else:
        line += " I have no peak on paper for this one, so I leave the comparison out."
    print(line)
print("The matrices are small and warm in the cache and the launches are in the time: please do not read it as a record attempt.")
