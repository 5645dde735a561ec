"""Batched matmul throughput (attention scores, B x S x D @ B x D x S)."""
import statistics
import time
from dataclasses import dataclass

import torch
import torch_npu


@dataclass(frozen=True)
class Case:
    batch: int
    seq: int
    dim: int

    @property
    def flop(self):
        return 2 * self.batch * self.seq * self.seq * self.dim


torch.set_num_threads(1)

CASES = [Case(8, 64, 64), Case(16, 128, 64), Case(16, 128, 128)]
ITERS, REPEATS = 10, 9


def run(case):
    gen = torch.Generator().manual_seed(case.seq)
    q = torch.randn(case.batch, case.seq, case.dim, generator=gen).half().npu()
    k = torch.randn(case.batch, case.dim, case.seq, generator=gen).half().npu()
    total = torch.zeros((), dtype=torch.float32, device="npu")

    def loop():
        for _ in range(ITERS):
            scores = torch.bmm(q, k)
            total.add_(scores.float().abs().sum())

    loop()
    torch.npu.synchronize()

    laps = []
    for _ in range(REPEATS):
        t0 = time.perf_counter()
        loop()
        torch.npu.synchronize()
        laps.append((time.perf_counter() - t0) / ITERS)
    if not torch.isfinite(total).item():
        raise RuntimeError(f"bad scores for {case}")
    return laps


print("bmm, float16, operands resident and warm")
print(f"median of {REPEATS} repeats, {ITERS} bmm calls each")
print(f"{'batch':>6}{'seq':>6}{'dim':>6}{'bmm us':>12}{'lo':>10}{'hi':>10}{'GFLOP/s':>12}")
print("-" * 62)
for case in CASES:
    laps = run(case)
    t = statistics.median(laps)
    print(
        f"{case.batch:>6}{case.seq:>6}{case.dim:>6}{t * 1e6:>12.0f}{min(laps) * 1e6:>10.0f}"
        f"{max(laps) * 1e6:>10.0f}{case.flop / t / 1e9:>12.2f}"
    )
