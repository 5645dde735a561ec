"""Rate of half matrix products at two shapes, by torch.utils.benchmark."""
import statistics
from dataclasses import dataclass

import torch
import torch.utils.benchmark as benchmark
import torch_npu

SHAPES = [(768, 768, 640), (512, 1024, 768)]
INNER, SAMPLES = 5, 11

STATEMENT = """
for _ in range(inner):
    torch.mm(a, b, out=c)
torch.npu.synchronize()
"""


@dataclass(frozen=True)
class Row:
    shape: str
    dtype: torch.dtype
    median_us: float
    low_us: float
    high_us: float
    count: int
    operations: int

    def __str__(self):
        rate = self.operations / self.median_us / 1e6
        return (f"{self.shape:>14}  {str(self.dtype):13}  {self.median_us:7.2f}  {self.low_us:7.2f}  "
                f"{self.high_us:7.2f}  {self.count:5}  {rate:6.1f}")


def measure(m, k, n):
    generator = torch.Generator().manual_seed(m + k + n)
    host_a = torch.randn(m, k, generator=generator).half()
    host_b = torch.randn(k, n, generator=generator).half()
    a, b = host_a.npu(), host_b.npu()
    c = torch.empty(m, n, dtype=a.dtype, device="npu")

    torch.mm(a, b, out=c)
    wanted = host_a.float() @ host_b.float()
    assert torch.allclose(c.float().cpu(), wanted, rtol=1e-2, atol=1e-1)

    timer = benchmark.Timer(STATEMENT, globals={"torch": torch, "a": a, "b": b, "c": c, "inner": INNER})
    for _ in range(3):
        timer.timeit(1)
    us = sorted(1e6 * timer.timeit(1).median / INNER for _ in range(SAMPLES))
    assert len(us) == SAMPLES
    middle = statistics.median(us)
    return Row(f"{m}x{k}x{n}", c.dtype, middle, us[0], us[-1], SAMPLES, 2 * m * k * n)


def main():
    torch.set_num_threads(2)
    print(f"torch.mm, {INNER} calls in a row and one wait to a sample; operands stay where the call before left them (warm L2)")
    print(f"{'m x k x n':>14}  {'dtype':13}  {'P50 us':>7}  {'low us':>7}  {'high us':>7}  {'n':>5}  {'TFLOP/s':>6}")
    for shape in SHAPES:
        print(measure(*shape))
    print("wall time a call, with its share of the wait; each row stands for its own shape")


if __name__ == "__main__":
    main()
