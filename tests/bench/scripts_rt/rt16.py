"""
Sustained traffic of an element-wise chain over a set time:  x <- sqrt(pow(x, 2)), in place, on one array larger than the L2.

Every kernel reads and writes the whole array: 4 x its size per turn. By the time the second kernel starts at the front, the
front has been displaced by the rest of the array, so the traffic is HBM traffic except for what a 192 MB cache keeps by luck.
"""
import time

import torch
import torch_npu

SPAN_S = 0.010            # run at least so long on the clock ...
AT_LEAST = 30             # ... and at least so many turns
MIB = 320


def turn(x):
    x.pow_(2)
    x.sqrt_()
    torch.npu.synchronize()


def sustained(x):
    stamps = [time.perf_counter()]
    while stamps[-1] - stamps[0] < SPAN_S or len(stamps) <= AT_LEAST:
        turn(x)
        stamps.append(time.perf_counter())
    return stamps


def main():
    block = torch.rand(1 << 20) + 0.5
    x = torch.empty(MIB << 18, device="npu")
    x.view(-1, 1 << 20).copy_(block.npu().expand(MIB >> 2, -1))
    for _ in range(2):
        turn(x)                                  # compile, first touch
    stamps = sustained(x)

    wrong = max((x[k << 20:(k + 1) << 20].cpu().double() - block.double()).abs().max().item() for k in (0, (MIB >> 2) - 1))
    assert wrong < 1e-5, wrong                   # x > 0, so the chain is the identity up to rounding
    moved = 4 * x.nbytes
    span = stamps[-1] - stamps[0]
    each = sorted(moved / (b - a) / 1e9 for a, b in zip(stamps, stamps[1:]))
    n = len(each)
    print(f"array {MIB} MiB fp32 = {MIB / 192:.1f} x the L2 (192 MB); {n} turns in {span * 1e3:.2f} ms; {moved / 1e9:.2f} GB per turn")
    print(f"sustained over the whole span : {n * moved / span / 1e9:7.1f} GB/s  (loop and waits included)")
    print(f"turn by turn                  : {each[n // 2]:7.1f} GB/s median, lower quartile {each[n // 4]:.1f}, upper {each[3 * n // 4]:.1f}, min {each[0]:.1f}, max {each[-1]:.1f}")
    print(f"the host waits once per turn, i.e. per two kernels of {x.nbytes / 1e9:.2f} GB read and {x.nbytes / 1e9:.2f} GB written each; that gap is inside and lowers the figure")
    print(f"after {n + 2} turns (the first two for start-up, unrecorded) x is still its start value to {wrong:.0e} (float64 comparison of the first and the last 4 MiB)")
    print("in-place kernels only; a read-only or write-only stream, and fp16, may behave otherwise and were not run")


if __name__ == "__main__":
    main()
