"""Device-to-host readback: which landing buffer should the result server use?"""

import statistics
import time
from typing import Protocol

import torch
import torch_npu  # noqa: F401

REPEAT = 31
SIZES_KIB = (128, 512, 2048)


class Landing(Protocol):
    title: str

    def read_back(self, src: torch.Tensor) -> torch.Tensor: ...


class Pageable:
    title = "ordinary memory"

    def __init__(self, like):
        self.buf = torch.empty(like.shape, dtype=like.dtype)

    def read_back(self, src):
        return self.buf.copy_(src)


class Pinned:
    title = "pinned, async"

    def __init__(self, like):
        self.buf = torch.empty(like.shape, dtype=like.dtype, pin_memory=True)

    def read_back(self, src):
        return self.buf.copy_(src, non_blocking=True)


def one(landing: Landing, src) -> float:
    t = time.perf_counter()
    landing.read_back(src)
    torch.npu.synchronize()
    return time.perf_counter() - t


def main():
    lines = []
    for kib in SIZES_KIB:
        src = torch.randn(kib * 256, device="npu")
        nbytes = src.numel() * src.element_size()
        sides = [Pageable(src), Pinned(src)]
        for side in sides:
            for _ in range(4):
                one(side, src)
            if not torch.equal(side.buf, src.cpu()):
                raise SystemExit(f"{side.title}: bytes differ")
        took = {side.title: [] for side in sides}
        for _ in range(REPEAT):
            for side in sides:
                took[side.title].append(one(side, src))
        for title, samples in took.items():
            mid = statistics.median(samples)
            cut = statistics.quantiles(samples, n=10)
            lines.append(
                f"│ {kib:>5} KiB │ {title:<15} │ {mid * 1e3:8.3f} │ {cut[8] * 1e3:8.3f} │ {nbytes / mid / 1e9:7.2f} │"
            )
    print(f"NPU to host, float32, {REPEAT} samples a row. Host clock. A sample opens before copy_ and closes after")
    print("synchronize() returns, so the host's waking up is inside each figure, for either kind of buffer.")
    print("Buffers are allocated once and reused.")
    print("┌───────────┬─────────────────┬──────────┬──────────┬─────────┐")
    print("│      size │ landing buffer  │  p50, ms │  p90, ms │ GB/s@50 │")
    print("├───────────┼─────────────────┼──────────┼──────────┼─────────┤")
    print("\n".join(lines))
    print("└───────────┴─────────────────┴──────────┴──────────┴─────────┘")
    print("GB/s@50: payload bytes over the median, 1 GB = 1e9 bytes")


if __name__ == "__main__":
    main()
