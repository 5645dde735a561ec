import torch
import torch_npu

import numpy as np


class RotaryTable:
    """cos and sin of position times frequency, as rotary attention needs them."""

    def __init__(self, dim=128, base=10000.0):
        self.frequency = (base ** (-torch.arange(0, dim, 2).float() / dim)).npu()
        self._tables = {}

    def __call__(self, positions):
        key = positions.numel()
        if key not in self._tables:
            angle = positions[:, None] * self.frequency[None, :]
            self._tables[key] = torch.cos(angle), torch.sin(angle)
        return self._tables[key]


def check(table, positions):
    angle = positions.cpu()[:, None] * table.frequency.cpu()[None, :]
    cos, sin = table(positions)
    torch.testing.assert_close(cos.cpu(), torch.cos(angle), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(sin.cpu(), torch.sin(angle), rtol=1e-3, atol=1e-3)


def rounds_of(function, rounds=8, calls=20):
    for _ in range(10):
        function()
    torch.npu.synchronize()
    for _ in range(rounds):
        begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            function()
        end.record()
        torch.npu.synchronize()
        yield begin.elapsed_time(end) * 1e3 / calls


def main():
    table = RotaryTable()
    for length in (2048, 8192, 16384):
        positions = torch.arange(length).float().npu()
        check(table, positions)
        us = np.array(list(rounds_of(lambda: table(positions))))
        p10, p50, p90 = np.percentile(us, [10, 50, 90])
        print(f"computing the rotary table on the device, {length} positions x 64 frequencies, float32: "
              f"median {p50:.2f} us a call, P10 {p10:.2f}, P90 {p90:.2f} (8 rounds of 20 calls)")


if __name__ == "__main__":
    main()
