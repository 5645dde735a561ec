"""cumsum along rows and along columns."""
from dataclasses import dataclass, field
import time

import torch
import torch_npu


@dataclass
class Record:
    rows: int
    cols: int
    dim: int
    us: list = field(default_factory=list)

    def q(self, f):
        s = sorted(self.us)
        return s[min(len(s) - 1, int(f * len(s)))]

    def __str__(self):
        return (f"{self.rows:5d} x {self.cols:5d}  dim={self.dim}  p50={self.q(.5):8.2f}us  "
                f"p10={self.q(.1):8.2f}us  p90={self.q(.9):8.2f}us  n={len(self.us)}")


def timed_us(x, dim):
    torch.npu.synchronize()
    a = time.perf_counter()
    torch.cumsum(x, dim)
    torch.npu.synchronize()
    return (time.perf_counter() - a) * 1e6


def verify(x, dim):
    got = torch.cumsum(x, dim).cpu()
    want = torch.cumsum(x.cpu().double(), dim).float()
    torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-2)


def run(rows, cols, rounds=20):
    recs = [Record(rows, cols, 0), Record(rows, cols, 1)]
    pool = [torch.randn(rows, cols).to("npu") for _ in range(3)]
    for rec in recs:
        verify(pool[0], rec.dim)
        for x in pool * 2:
            timed_us(x, rec.dim)
    for r in range(rounds):
        for k, rec in enumerate(recs if r % 2 == 0 else recs[::-1]):
            rec.us.append(timed_us(pool[(r + k) % 3], rec.dim))
    return recs


if __name__ == "__main__":
    print("torch.cumsum fp32: one call, host issue and wait included; inputs hot in L2 (3 in turn);")
    print("dim order alternates from round to round; figures hold for the shapes listed")
    for rows, cols in [(64, 1024), (512, 512), (1024, 1024)]:
        for rec in run(rows, cols):
            print(rec)
