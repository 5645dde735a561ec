"""x.t().contiguous(): warm up until the figure stands still, then measure."""
import time
from collections import deque
import torch
import torch_npu

RING_BYTES = 256 * 2**20         # inputs in turn; more than the L2 (192 MB)
MAX_WARM = 60


def once(x):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    x.t().contiguous()
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6


def until_steady(ring, window=8, tol=0.02):
    """Run until the last `window` times lie within `tol` of each other."""
    last = deque(maxlen=window)
    for i in range(MAX_WARM):
        last.append(once(ring[i % len(ring)]))
        if len(last) == window and max(last) - min(last) <= tol * min(last):
            return i + 1, True
    return MAX_WARM, False


def main():
    torch.manual_seed(2)
    pool = torch.rand(RING_BYTES // 4, device="npu")
    print("transpose copy, float32, input cold in cache; one call until it is done, in us")
    for rows, cols in ((2048, 2048), (1024, 4096), (8192, 512)):
        ring = [p.view(rows, cols) for p in pool.split(rows * cols)]
        assert torch.equal(ring[0].t().contiguous().cpu(), ring[0].cpu().t())
        used, steady = until_steady(ring)
        # the kept samples begin after the steady point and none of them is left out
        xs = sorted(once(ring[(used + i) % len(ring)]) for i in range(3 * len(ring)))
        med = xs[len(xs) // 2]
        note = f"steady after {used} calls" if steady else f"NOT steady in {used} calls, read with care"
        print(f"{rows}x{cols}: median {med:.2f} us, p10 {xs[len(xs) // 10]:.2f}, p90 {xs[len(xs) * 9 // 10]:.2f}, "
              f"min {xs[0]:.2f}, max {xs[-1]:.2f}, n={len(xs)}; {2 * rows * cols * 4 / med / 1e3:.0f} GB/s "
              f"with launch and wait; {note}")


main()
