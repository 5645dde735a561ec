import torch
import torch_npu
import numpy as np


class RotaryTable:
    """cos and sin of the rotary embedding."""

    def __init__(self, dim, base=10000.0):
        self.dim = dim
        exponent = torch.arange(0, dim, 2, dtype=torch.float32) / dim
        self.frequency = (1.0 / base**exponent).npu()
        self.length = 0
        self.cos = self.sin = None

    def grow(self, length):
        position = torch.arange(length, dtype=torch.float32, device="npu")
        angle = torch.outer(position, self.frequency)
        angle = torch.cat((angle, angle), dim=-1)
        self.cos, self.sin, self.length = angle.cos(), angle.sin(), length

    def __call__(self, length):
        if length > self.length:
            self.grow(length)
        return self.cos[:length], self.sin[:length]


def reference(dim, length, base=10000.0):
    angle = np.outer(np.arange(length), base ** (-np.arange(0, dim, 2) / dim))
    angle = np.concatenate((angle, angle), axis=-1)
    return np.cos(angle), np.sin(angle)


def samples_us(call, warmup, count):
    for _ in range(warmup):
        call()
    torch.npu.synchronize()
    starts = [torch.npu.Event(enable_timing=True) for _ in range(count)]
    ends = [torch.npu.Event(enable_timing=True) for _ in range(count)]
    for start, end in zip(starts, ends):
        start.record()
        call()
        end.record()
    torch.npu.synchronize()
    return np.array([s.elapsed_time(e) * 1e3 for s, e in zip(starts, ends)])


def main():
    dim, length = 128, 4096
    table = RotaryTable(dim)
    cos, sin = table(length)
    for got, want in zip((cos, sin), reference(dim, length)):
        np.testing.assert_allclose(got.cpu().numpy(), want, atol=2e-3)
    us = samples_us(lambda: table(length), warmup=10, count=100)
    p50, p90, p99 = np.percentile(us, [50, 90, 99])
    print(f"computing the rotary cos and sin tables, {length} positions x {dim}, float32")
    print(f"device time: P50 {p50:.2f} us, P90 {p90:.2f} us, P99 {p99:.2f} us; {us.size} samples, warmed up")


if __name__ == "__main__":
    main()
