from __future__ import annotations

import statistics
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
import torch_npu

L2 = 192 << 20


@dataclass
class Record:
    rows: int
    classes: int
    inputs: int
    us: list[float] = field(default_factory=list)

    def __str__(self):
        q = statistics.quantiles(self.us, n=20, method="inclusive")
        p50 = statistics.median(self.us)
        gbs = self.rows * self.classes * 4 / p50 / 1e3
        return (f"cross_entropy fp32 {self.rows} x {self.classes}, cold ({self.inputs} inputs in turn, more than the L2 holds): "
                f"p50 {p50:.2f} us, p5 {q[0]:.2f}, p95 {q[-1]:.2f}, n={len(self.us)}; "
                f"logits are read at {gbs:.0f} GB/s (read once, by the median)")


def bench(rows: int, classes: int, samples: int = 100, warmup: int = 10) -> Record:
    count = -(-(L2 * 5 // 4) // (rows * classes * 4))
    logits = [torch.randn(rows, classes, device="npu") for _ in range(count)]
    targets = [torch.randint(0, classes, (rows,)).to("npu") for _ in range(count)]
    record = Record(rows, classes, count)

    loss = F.cross_entropy(logits[0], targets[0])
    expected = F.cross_entropy(logits[0].cpu(), targets[0].cpu())
    torch.testing.assert_close(loss.cpu(), expected, rtol=1e-4, atol=1e-4)

    for i in range(warmup):
        F.cross_entropy(logits[i % count], targets[i % count])
    torch.npu.synchronize()
    for i in range(warmup, warmup + samples):
        x, t = logits[i % count], targets[i % count]
        begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
        begin.record()
        F.cross_entropy(x, t)
        end.record()
        end.synchronize()
        record.us.append(begin.elapsed_time(end) * 1e3)     # ms -> us
    torch.npu.synchronize()
    return record


if __name__ == "__main__":
    print("between two events on the stream, around one call (all of its kernels and the gaps between them):")
    for r in [bench(512, 4096), bench(2048, 1024), bench(256, 16384)]:
        print(r)
