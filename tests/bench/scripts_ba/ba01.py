"""Depthwise 3x3 against dense 3x3 on the NPU: how much of the saved arithmetic arrives as saved time?"""
import statistics

import torch
import torch_npu  # noqa: F401
from torch import nn

DEV = "npu"
N, HW = 2, 14
REPEATS, CALLS = 15, 10


def make(channels, depthwise):
    groups = channels if depthwise else 1
    conv = nn.Conv2d(channels, channels, 3, padding=1, groups=groups, bias=False)
    return conv.to(DEV).eval()


def macs(channels, depthwise):
    per_output = 9 if depthwise else 9 * channels
    return N * channels * HW * HW * per_output


@torch.no_grad()
def device_us(conv, x):
    for _ in range(5):
        conv(x)
    torch.npu.synchronize()
    samples = []
    for _ in range(REPEATS):
        begin = torch.npu.Event(enable_timing=True)
        end = torch.npu.Event(enable_timing=True)
        begin.record()
        for _ in range(CALLS):
            conv(x)
        end.record()
        end.synchronize()
        samples.append(begin.elapsed_time(end) * 1e3 / CALLS)
    samples.sort()
    return samples[0], statistics.median(samples), samples[-1]


def main():
    torch.manual_seed(0)
    print(f"fp32, N={N}, {HW}x{HW}; {REPEATS} samples of {CALLS} calls in a row, same input each call (L2 warm)")
    head = f"{'C':>4} {'kind':>10} {'MMAC':>8} {'min us':>8} {'median us':>10} {'max us':>8} {'GMAC/s':>9}"
    print(head)
    print("-" * len(head))
    for channels in (16, 32, 64):
        x = torch.randn(N, channels, HW, HW, device=DEV)
        for depthwise in (False, True):
            low, mid, high = device_us(make(channels, depthwise), x)
            work = macs(channels, depthwise)
            kind = "depthwise" if depthwise else "dense"
            print(f"{channels:>4} {kind:>10} {work / 1e6:>8.2f} {low:>8.2f} {mid:>10.2f} {high:>8.2f} {work / mid / 1e3:>9.1f}")
    print("The two kinds do not do the same arithmetic (see MMAC): this is no race, it shows the rate of each.")


if __name__ == "__main__":
    main()
