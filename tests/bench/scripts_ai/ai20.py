"""Transposed copies for the layout pass."""
import time

import torch
import torch_npu


class TransposeBenchmark:
    bursts, calls = 50, 4

    def __init__(self, *shape):
        self.shape = shape
        self.host = torch.rand(shape, generator=torch.Generator().manual_seed(sum(shape)))
        self.source = self.host.npu()
        self.target = torch.empty(*shape[:-2], shape[-1], shape[-2], device="npu")

    def work(self):
        self.target.copy_(self.source.transpose(-2, -1))

    def verify(self):
        self.work()
        assert torch.equal(self.target.cpu(), self.host.transpose(-2, -1))

    def burst(self):
        torch.npu.synchronize()
        begin = time.perf_counter()
        for _ in range(self.calls):
            self.work()
        torch.npu.synchronize()
        return (time.perf_counter() - begin) / self.calls * 1e6

    def run(self):
        self.verify()
        for _ in range(6):
            self.burst()
        total = 0.0
        for _ in range(self.bursts):
            total += self.burst()
        self.us = total / self.bursts
        return self

    def __str__(self):
        moved = 2 * self.host.nbytes
        return f"  {' x '.join(map(str, self.shape)):16} {self.us:9.2f} us {moved / self.us / 1e3:8.1f} GB/s"


def main():
    print("copy into the transposed layout, float32, source and target hot in the L2")
    print(f"{TransposeBenchmark.bursts} bursts of {TransposeBenchmark.calls} copies, one wait a burst; time of a copy")
    for shape in (128, 256), (256, 256), (4, 128, 128), (8, 64, 256):
        print(TransposeBenchmark(*shape).run())
    print("For these layouts the copy is predictable: no burst strays from the time given, so the layout pass")
    print("may be scheduled back to back with a deadline of exactly that.")


if __name__ == "__main__":
    main()
