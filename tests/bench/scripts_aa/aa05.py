import statistics
import time
from dataclasses import dataclass, field

import torch
import torch_npu


@dataclass
class Stopwatch:
    """with watch: ... adds one lap, in seconds"""
    laps: list = field(default_factory=list)

    def __enter__(self):
        torch.npu.synchronize()
        self._begin = time.perf_counter()
        return self

    def __exit__(self, *exc):
        self.laps.append(time.perf_counter() - self._begin)
        return False


@dataclass(frozen=True)
class Upload:
    mebibytes: int
    copies: int = 4

    @property
    def nbytes(self):
        return self.mebibytes << 20

    def prepare(self):
        sources = [torch.randint(0, 255, (self.nbytes,), dtype=torch.uint8).pin_memory() for _ in range(self.copies)]
        targets = [torch.empty(self.nbytes, dtype=torch.uint8, device="npu") for _ in range(self.copies)]
        return list(zip(targets, sources))


def run(case, rounds=11):
    pairs = case.prepare()
    for target, source in pairs * 2:
        target.copy_(source, non_blocking=True)
    watch = Stopwatch()
    for _ in range(rounds):
        with watch:
            for target, source in pairs:
                target.copy_(source, non_blocking=True)
    rates = sorted(case.copies * case.nbytes / lap / 1e9 for lap in watch.laps)
    return statistics.median(rates), rates[0], rates[-1]


if __name__ == "__main__":
    print("host to device, pinned memory, non_blocking")
    for case in (Upload(1), Upload(4), Upload(16)):
        mid, low, high = run(case)
        print(f"  {case.copies} x {case.mebibytes:3d} MiB: {mid:9.2f} GB/s over the link (median of 11; {low:.2f} to {high:.2f})")
