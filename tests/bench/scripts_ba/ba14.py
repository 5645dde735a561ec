"""RMSNorm written out in torch ops: what do the kernels cost?"""
import time
from statistics import median

import torch
import torch_npu

TOKENS, HIDDEN = 256, 512
EPS = 1e-6


def rms_norm(x, weight):
    scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS)
    return x * scale * weight


class Stopwatch:
    def __init__(self):
        self.laps = []

    def __enter__(self):
        self.t0 = time.perf_counter()
        return self

    def __exit__(self, *exc):
        torch.npu.synchronize()
        self.laps.append(time.perf_counter() - self.t0)


def main():
    torch.manual_seed(0)
    x = torch.randn(TOKENS, HIDDEN, device="npu")
    weight = torch.ones(HIDDEN, device="npu")
    for _ in range(10):
        rms_norm(x, weight)
    torch.npu.synchronize()

    watch = Stopwatch()
    mean_watch = Stopwatch()
    for _ in range(60):
        with watch:
            rms_norm(x, weight)
    for _ in range(60):
        with mean_watch:
            x.mean(-1, keepdim=True)

    whole = median(watch.laps) * 1e6
    part = median(mean_watch.laps) * 1e6
    print(f"RMSNorm by hand on {TOKENS} x {HIDDEN} floats, median of {len(watch.laps)} laps, data warm in L2.")
    print(f"The NPU is busy for {whole:.1f} us with the whole norm (laps from {min(watch.laps) * 1e6:.1f} "
          f"to {max(watch.laps) * 1e6:.1f} us).")
    print(f"The reduction kernel alone runs for {part:.1f} us on the device, that is "
          f"{TOKENS * HIDDEN / part / 1e3:.2f} billion elements a second.")


if __name__ == "__main__":
    main()
