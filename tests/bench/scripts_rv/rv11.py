import time
from typing import Callable, Iterable, NamedTuple

import torch
import torch_npu


class Verdict(NamedTuple):
    best_us: float
    median_us: float
    slow_us: float
    windows: int
    calls: int


def harness(call: Callable[[], object], wait: Callable[[], None], clock: Callable[[], float],
            windows: int = 20, calls: int = 6, warm: int = 8) -> Verdict:
    for _ in range(warm):
        call()
    wait()
    seen = []
    for _ in range(windows):
        begin = clock()
        for _ in range(calls):
            call()
        wait()
        seen.append((clock() - begin) / calls * 1e6)
    seen.sort()
    half = windows // 2
    return Verdict(seen[0], (seen[half - 1] + seen[half]) / 2, seen[int(windows * .9)], windows, calls)


def problems() -> Iterable[tuple[int, int, int]]:
    yield 256, 256, 256
    yield 16, 1024, 1024
    yield 512, 512, 128


torch.set_num_threads(1)
NOMINAL = 24 * 2 * 16**3 * 1.85e9 / 1e12

print(f"Nominal ceiling of this card for float16: {NOMINAL:.0f} TFLOP/s "
      f"(24 cube cores, 16x16x16 multiply-adds a cycle, 1.85 GHz). Arithmetic on the chip's figures, not measured here.")
for m, n, k in problems():
    a = torch.randn(m, k).half().to("npu")
    b = torch.randn(k, n).half().to("npu")
    out = torch.empty(m, n, dtype=torch.float16, device="npu")
    v = harness(lambda: torch.matmul(a, b, out=out), torch.npu.synchronize, time.perf_counter)
    tflops = 2 * m * n * k / v.median_us / 1e6
    print(
        f"[{m} x {k}] @ [{k} x {n}]:\n"
        f"    median {v.median_us:.1f} us a product, best case {v.best_us:.1f} us, nine in ten windows under {v.slow_us:.1f} us\n"
        f"    {tflops:.4f} TFLOP/s at the median = {100 * tflops / NOMINAL:.3f} % of the ceiling\n"
        f"    ({v.windows} windows of {v.calls} back-to-back products and one wait, operands hot in L2)"
    )
