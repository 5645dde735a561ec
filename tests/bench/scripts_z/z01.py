"""Products of half-precision matrices, by torch.utils.benchmark with a timer that drains the card at every reading."""
import time

import torch
import torch_npu
from torch.utils import benchmark

CALLS = 25
ROUNDS = 5
SIZES = [(128, 512, 512), (256, 512, 1024), (512, 512, 512)]


def drained_clock():
    # Timer reads its clock before and after `number` calls; torch only knows how to wait for CUDA by itself
    torch.npu.synchronize()
    return time.perf_counter()


def timers():
    for m, k, n in SIZES:
        a = torch.randn(m, k, dtype=torch.float16).npu()
        b = torch.randn(k, n, dtype=torch.float16).npu()
        reference = a.cpu().float() @ b.cpu().float()
        torch.testing.assert_close((a @ b).cpu().float(), reference, rtol=2e-2, atol=0.25)
        yield (m, k, n), benchmark.Timer("torch.mm(a, b)", timer=drained_clock, globals={"torch": torch, "a": a, "b": b},
                                         label="float16 product", sub_label=f"{m} x {k} x {n}")


def main():
    prepared = list(timers())
    for _, timer in prepared:
        timer.timeit(10)
    collected = {shape: [] for shape, _ in prepared}
    for round_number in range(ROUNDS):
        for shape, timer in prepared[::-1] if round_number % 2 else prepared:
            collected[shape].append(timer.timeit(CALLS))
    print(f"float16 torch.mm, operands left in the L2 by the call before; {ROUNDS} rounds of {CALLS} calls, one wait a round, so a call is never below what issuing it takes")
    for shape, parts in collected.items():
        merged, = benchmark.Measurement.merge(parts)
        each = sorted(part.mean * 1e6 for part in parts)
        print(f"  {' x '.join(map(str, shape)):>18}: median {merged.median * 1e6:8.2f} us a call, rounds from {each[0]:.2f} to {each[-1]:.2f}")


if __name__ == "__main__":
    main()
