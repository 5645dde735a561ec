"""Device time of our SiLU kernel (kernels/silu/silu.asc) with one and two slots, measured by events on its stream."""
import random

import numpy as np
import torch
import torch_npu  # noqa: F401

import labkit

CORES, SAMPLES, WARM = 48, 30, 5
SIZES = (500_000, 1_000_000, 2_500_000)
SLOTS = (1, 2)


def load(slots):
    return labkit.kernel("kernels/silu/silu.asc", entry=f"silu<{slots}>")


class Case:
    def __init__(self, kernel, n):
        self.kernel, self.n = kernel, n
        self.x = torch.randn(n).npu()
        self.y = torch.empty_like(self.x)
        self.us = []

    def launch(self):
        self.kernel[CORES](self.x, self.y, self.n)

    def verify(self):
        self.launch()
        want = torch.nn.functional.silu(self.x.cpu())
        torch.testing.assert_close(self.y.cpu(), want, rtol=1e-4, atol=1e-5)

    def sample(self):
        begin = torch.npu.Event(enable_timing=True)
        end = torch.npu.Event(enable_timing=True)
        begin.record()
        self.launch()
        end.record()
        end.synchronize()
        self.us.append(1e3 * begin.elapsed_time(end))


def main():
    torch.manual_seed(17)
    kernels = {slots: load(slots) for slots in SLOTS}
    dice = random.Random(17)
    print(f"SiLU, float32, {CORES} cores, x in the L2; kernel time in us, median [P10, P90] of {SAMPLES}")
    for n in SIZES:
        cases = {slots: Case(kernel, n) for slots, kernel in kernels.items()}
        for case in cases.values():
            case.verify()
            for _ in range(WARM):
                case.launch()
        torch.npu.synchronize()
        for _ in range(SAMPLES):
            for slots in dice.sample(SLOTS, len(SLOTS)):
                cases[slots].sample()
        cells = []
        for slots, case in cases.items():
            p10, p50, p90 = np.percentile(case.us, [10, 50, 90])
            cells.append(f"{slots} slot{'s' if slots > 1 else ' '} {p50:6.2f} [{p10:.2f}, {p90:.2f}]")
        ratio = np.median(np.array(cases[1].us) / np.array(cases[2].us))
        print(f"  n = {n:>9,}   {'   '.join(cells)}   one slot takes {ratio:.2f} times as long")


if __name__ == "__main__":
    main()
