from __future__ import annotations

import json
import statistics
import time
from dataclasses import asdict, dataclass, field

import torch
import torch.nn.functional as F
import torch_npu


@dataclass
class Record:
    rows: int
    hidden: int
    dtype: str
    what: str = "silu(gate) * up, two launches, wall time per call, 5 calls per wait"
    cache: str = "hot: same gate and up in every call"
    samples_us: list[float] = field(default_factory=list, repr=False)

    def summary(self) -> dict:
        row = asdict(self)
        s = row.pop("samples_us")
        q = statistics.quantiles(s, n=10)
        row |= dict(n=len(s), median_us=round(statistics.median(s), 3), p10_us=round(q[0], 3), p90_us=round(q[-1], 3))
        return row


def gate_up(gate, up):
    return F.silu(gate) * up


def measure(rows: int, hidden: int, dtype: torch.dtype, n: int = 16, calls: int = 5) -> Record:
    gate, up = (torch.randn(rows, hidden, device="npu", dtype=dtype) for _ in range(2))
    want = F.silu(gate.cpu().float()) * up.cpu().float()
    torch.testing.assert_close(gate_up(gate, up).cpu().float(), want, rtol=2e-2, atol=2e-2)
    for _ in range(8):
        gate_up(gate, up)
    torch.npu.synchronize()
    rec = Record(rows, hidden, str(dtype).removeprefix("torch."))
    for _ in range(n):
        t0 = time.perf_counter()
        for _ in range(calls):
            gate_up(gate, up)
        torch.npu.synchronize()
        rec.samples_us.append((time.perf_counter() - t0) * 1e6 / calls)
    return rec


if __name__ == "__main__":
    records = [
        measure(rows, hidden, dtype)
        for dtype in (torch.float16, torch.bfloat16)
        for rows, hidden in ((1, 1024), (32, 1024), (128, 2048))
    ]
    for r in records:
        print(json.dumps(r.summary()))
    print("Each line is a measurement of its shape and dtype; no more than that is claimed.")
