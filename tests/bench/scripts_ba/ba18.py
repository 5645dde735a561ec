"""Conv2d forward on the NPU by image size."""
import torch
import torch_npu
import torch.nn as nn

CASES = [
    # batch, c_in, c_out, size, kernel
    (2, 16, 16, 14, 3),
    (2, 16, 32, 28, 3),
    (2, 32, 32, 28, 1),
]
WARMUP = 5
SAMPLES = 15
CALLS = 3


def batch_of(case):
    n, c_in, _, size, _ = case
    return torch.randn(n, c_in, size, size, device="npu").mul_(0.5).add_(0.5)


def forward_us(conv, case):
    for _ in range(WARMUP):
        conv(batch_of(case))
    torch.npu.synchronize()
    out = []
    for _ in range(SAMPLES):
        t0 = torch.npu.Event(enable_timing=True)
        t1 = torch.npu.Event(enable_timing=True)
        t0.record()
        for _ in range(CALLS):
            conv(batch_of(case))
        t1.record()
        t1.synchronize()
        out.append(t0.elapsed_time(t1) * 1e3 / CALLS)
    return sorted(out)


def gflop(case):
    n, c_in, c_out, size, k = case
    return 2 * n * c_out * size * size * c_in * k * k / 1e9


@torch.no_grad()
def main():
    torch.manual_seed(0)
    print("nn.Conv2d forward, fp32, stride 1, same padding, no bias")
    print(f"{'n':>2} {'cin':>4} {'cout':>5} {'size':>5} {'k':>2} {'conv2d us':>10} {'min':>8} {'max':>8} {'GFLOP/s':>9}")
    for case in CASES:
        n, c_in, c_out, size, k = case
        conv = nn.Conv2d(c_in, c_out, k, padding=k // 2, bias=False).to("npu")
        us = forward_us(conv, case)
        mid = us[SAMPLES // 2]
        print(f"{n:>2} {c_in:>4} {c_out:>5} {size:>5} {k:>2} {mid:>10.2f} {us[0]:>8.2f} {us[-1]:>8.2f} "
              f"{gflop(case) / mid * 1e6:>9.1f}")


if __name__ == "__main__":
    main()
