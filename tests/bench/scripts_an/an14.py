from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch
import torch_npu

BLOCK = 20        # chains per sample, back to back, one wait at the end


@dataclass
class Record:
    shape: tuple[int, int]
    dtype: torch.dtype
    us: list[float] = field(default_factory=list)

    def at(self, p: float) -> float:
        xs = sorted(self.us)
        return xs[round(p * (len(xs) - 1))]

    def __str__(self) -> str:
        name = str(self.dtype).removeprefix("torch.")
        return (f"{self.shape[0]:5d}x{self.shape[1]:<5d} {name:8s} p10 {self.at(.1):8.2f}  "
                f"p50 {self.at(.5):8.2f}  p90 {self.at(.9):8.2f}  max {max(self.us):8.2f}  n={len(self.us)}")


def chain(x):
    return torch.sqrt(torch.pow(x, 2) + 1e-6)


def fill(rec: Record, samples: int = 30) -> Record:
    x = torch.randn(rec.shape, device="npu", dtype=rec.dtype)
    want = torch.sqrt(torch.pow(x.cpu().float(), 2) + 1e-6)
    tol = 1e-5 if rec.dtype == torch.float32 else 1e-2
    assert torch.allclose(chain(x).cpu().float(), want, rtol=tol, atol=tol)
    for _ in range(2 * BLOCK):
        chain(x)
    torch.npu.synchronize()
    for _ in range(samples):
        t0 = time.perf_counter()
        for _ in range(BLOCK):
            chain(x)
        torch.npu.synchronize()
        rec.us.append((time.perf_counter() - t0) / BLOCK * 1e6)
    return rec


records = [Record(shape, dtype)
           for dtype in (torch.float32, torch.float16)
           for shape in ((64, 512), (512, 1024), (1024, 2048))]

print(f"sqrt(x**2 + 1e-6) as three separate operators; us per chain, mean over blocks of {BLOCK} chains")
print("the same x in each chain: hot cache; the small shapes are bound by the launches of the host")
for record in records:
    print(fill(record))
