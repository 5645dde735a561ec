"""Batched matmul of attention scores: time of a call, back to back, one record for each shape."""
from __future__ import annotations

import time
from dataclasses import dataclass, field

import torch
import torch_npu  # noqa: F401


@dataclass
class Case:
    batch: int
    m: int
    k: int
    n: int

    @property
    def flops(self) -> float:
        return 2.0 * self.batch * self.m * self.k * self.n


@dataclass
class Record:
    case: Case
    calls: int
    us: list[float] = field(default_factory=list)

    def at(self, q: float) -> float:
        return float(torch.tensor(self.us, dtype=torch.float64).quantile(q))

    def line(self) -> str:
        c = self.case
        return (
            f"bmm {c.batch}x[{c.m},{c.k}]x[{c.k},{c.n}] bf16: p50 {self.at(0.5):.2f} us/call, p10 {self.at(0.1):.2f}, "
            f"p90 {self.at(0.9):.2f}, {c.flops / self.at(0.5) / 1e6:.2f} TFLOP/s at p50 ({len(self.us)} blocks of {self.calls})"
        )


def measure(case: Case, blocks: int = 30, calls: int = 4, sets: int = 4) -> Record:
    operands = [
        (
            torch.randn(case.batch, case.m, case.k, device="npu", dtype=torch.bfloat16),
            torch.randn(case.batch, case.k, case.n, device="npu", dtype=torch.bfloat16),
        )
        for _ in range(sets)
    ]
    got = torch.bmm(*operands[0]).float().cpu()
    want = torch.bmm(*(t.float().cpu() for t in operands[0]))
    torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-1)
    for i in range(2 * calls):
        torch.bmm(*operands[i % sets])

    record = Record(case, calls)
    for _ in range(blocks):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        for i in range(calls):
            torch.bmm(*operands[i % sets])
        torch.npu.synchronize()
        record.us.append((time.perf_counter() - t0) / calls * 1e6)
    return record


if __name__ == "__main__":
    print("Wall time of a bmm call in a queue, launches included and one wait for each block; operands hot in L2.")
    for case in (Case(16, 128, 64, 128), Case(32, 128, 64, 256), Case(64, 256, 64, 256)):
        print(measure(case).line())
