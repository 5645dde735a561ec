"""bmm: go on until the figure is steady, and say so if it never is."""
import time
from collections import deque

import torch
import torch_npu

TOL = 0.02       # the last WINDOW blocks agree within 2 %
WINDOW = 5
MAX_BLOCKS = 30
CALLS = 4


def block(a, b):
    t0 = time.perf_counter()
    for _ in range(CALLS):
        torch.bmm(a, b)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / CALLS * 1e6


def until_steady(a, b):
    for _ in range(5):
        torch.bmm(a, b)
    torch.npu.synchronize()
    recent, total = deque(maxlen=WINDOW), 0
    while total < MAX_BLOCKS:
        recent.append(block(a, b))
        total += 1
        if len(recent) == WINDOW and (max(recent) - min(recent)) <= TOL * min(recent):
            return sorted(recent), total, True
    return sorted(recent), total, False


shapes = [(4, 64, 64, 64), (8, 128, 64, 128), (8, 128, 128, 128), (2, 256, 128, 64)]
print(f"torch.bmm fp16, us per call (wall; {CALLS} calls per wait; operands hot in L2)")
for b, m, k, n in shapes:
    left = torch.randn(b, m, k, device="npu", dtype=torch.float16)
    right = torch.randn(b, k, n, device="npu", dtype=torch.float16)
    want = torch.bmm(left.cpu().float(), right.cpu().float())
    torch.testing.assert_close(torch.bmm(left, right).cpu().float(), want, rtol=1e-2, atol=5e-2)
    window, total, steady = until_steady(left, right)
    mid = window[WINDOW // 2]
    tflops = 2 * b * m * k * n / mid / 1e6
    state = f"steady after {total} blocks" if steady else f"NOT STEADY in {total} blocks, last {WINDOW} shown"
    print(f"b={b:3d} m={m:4d} k={k:4d} n={n:4d}: median {mid:8.2f} us, min {window[0]:.2f}, max {window[-1]:.2f} "
          f"({state}); {tflops:.3f} TFLOP/s")
print("For these four shapes only. The blocks before the window are a run-in; their count is given on each line. "
      f"The spread in a steady window is below {TOL:.0%} because that is the rule for stopping.")
