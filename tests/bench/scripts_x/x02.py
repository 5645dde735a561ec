import torch
import torch_npu
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Candidate:
    name: str
    function: object
    samples: list = field(default_factory=list)

    def warm(self, x):
        for _ in range(10):
            self.function(x)
        torch.npu.synchronize()

    def collect(self, x, repeats=4, calls=12):
        for _ in range(repeats):
            marks = [torch.npu.Event(enable_timing=True) for _ in range(calls + 1)]
            self.function(x)
            marks[0].record()
            for mark in marks[1:]:
                self.function(x)
                mark.record()
            torch.npu.synchronize()
            self.samples += [a.elapsed_time(b) * 1e3 for a, b in zip(marks, marks[1:])]

    def summary(self):
        low, mid, high = np.percentile(self.samples, [10, 50, 90])
        return f"{self.name}: median {mid:.1f} us, P10 {low:.1f}, P90 {high:.1f}, {len(self.samples)} calls in 4 repeats"


def tanh_gelu(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


def erf_gelu(x):
    return torch.nn.functional.gelu(x)


def main():
    torch.manual_seed(0)
    for shape in ((2048, 1024), (3072, 1024)):
        x = torch.randn(*shape).npu()
        left, right = Candidate("erf GELU", erf_gelu), Candidate("tanh GELU", tanh_gelu)
        torch.testing.assert_close(left.function(x).cpu(), torch.nn.functional.gelu(x.cpu()), rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(right.function(x).cpu(), left.function(x).cpu(), rtol=2e-3, atol=2e-3)
        for candidate in (left, right):
            candidate.warm(x)
        left.collect(x)
        right.collect(x)
        ratio = np.median(left.samples) / np.median(right.samples)
        print(f"float32 {shape[0]} x {shape[1]}, device time between events")
        print("  " + left.summary())
        print("  " + right.summary())
        print(f"  at this shape the tanh form is {ratio:.3f} times as fast as the erf form")


if __name__ == "__main__":
    main()
