from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu


@dataclass
class Case:
    tokens: int
    hidden: int
    dtype: torch.dtype = torch.float32


@dataclass
class Record:
    name: str
    case: Case
    us: list[float] = field(default_factory=list)

    def line(self) -> str:
        low, mid, high = np.percentile(self.us, [25, 50, 75])
        return (f"{self.name:<14} {self.case.tokens:>5} x {self.case.hidden:<5} n={len(self.us)}  "
                f"median {mid:8.2f} us  IQR [{low:.2f}, {high:.2f}]  min {min(self.us):.2f}  max {max(self.us):.2f}")


def by_silu(gate, up):
    return F.silu(gate) * up


def by_sigmoid(gate, up):
    return gate * torch.sigmoid(gate) * up


def timed(f, *args) -> float:
    torch.npu.synchronize()
    t = time.perf_counter_ns()
    f(*args)
    torch.npu.synchronize()
    return (time.perf_counter_ns() - t) / 1e3


def run(case: Case, rounds=40) -> list[Record]:
    gate, up = (torch.randn(case.tokens, case.hidden, device="npu", dtype=case.dtype) for _ in range(2))
    torch.testing.assert_close(by_silu(gate, up), by_sigmoid(gate, up))
    pair = [(by_silu, Record("silu * up", case)), (by_sigmoid, Record("x*sigmoid*up", case))]
    for f, _ in pair:
        for _ in range(8):
            f(gate, up)
    for r in range(rounds):
        for f, record in pair if r % 2 == 0 else reversed(pair):
            record.us.append(timed(f, gate, up))
    return [record for _, record in pair]


print("Gate of a SwiGLU block, float32, two spellings with the same result (checked).")
print("Issue to completion of one call; inputs reused, so hot in the L2; the order changes each round.")
for case in (Case(16, 4096), Case(64, 2048), Case(128, 4096)):
    for record in run(case):
        print(record.line())
