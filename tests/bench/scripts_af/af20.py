import labkit
import csv
import random
import sys

import numpy as np
import torch

# AdamW's step over the number of parameters, one line of CSV for each size.
TENSORS, SIZES = 4, [1 << 12, 1 << 15, 1 << 18]
WARM, ROUNDS, STEPS = 20, 10, 20


class Case:
    def __init__(self, size):
        self.size = size
        self.parameters = [torch.nn.Parameter(torch.randn(size, device="npu")) for _ in range(TENSORS)]
        self.gradients = [[torch.randn(size, device="npu") for _ in range(TENSORS)] for _ in range(4)]
        self.optimizer = torch.optim.AdamW(self.parameters, lr=1e-3, weight_decay=0.01, fused=True)
        self.done, self.marks = 0, []

    def step(self, keep):
        for parameter, gradient in zip(self.parameters, self.gradients[self.done % 4]):
            parameter.grad = gradient  # other gradients each time, given before the clock
        begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        begin.record()
        self.optimizer.step()
        end.record()
        self.done += 1
        if keep:
            self.marks.append((begin, end))


torch.manual_seed(20)
cases = [Case(size) for size in SIZES]
before = [case.parameters[0].detach().cpu().clone() for case in cases]
for case in cases:
    for _ in range(WARM):
        case.step(keep=False)

draw = random.Random(20)
for _ in range(ROUNDS):
    for case in draw.sample(cases, len(cases)):
        for _ in range(STEPS):
            case.step(keep=True)
torch.npu.synchronize()
assert all(not torch.equal(old, case.parameters[0].detach().cpu()) for old, case in zip(before, cases))

print(f"# fused AdamW, float32, {TENSORS} tensors; parameters, moments and gradients warm in the L2")
print(f"# us on the device between an event before step() and one behind it, gaps between its launches included")
print(f"# {WARM} steps of warm-up for each size, then rounds of {STEPS} steps, sizes in drawn order in each round")
table = csv.writer(sys.stdout, lineterminator="\n")
table.writerow(["parameters", "samples", "p10_us", "p50_us", "p90_us", "p50_first_half_us", "p50_second_half_us"])
for case in cases:
    us = np.array([1e3 * begin.elapsed_time(end) for begin, end in case.marks])
    half = len(us) // 2
    cells = [*np.percentile(us, [10, 50, 90]), np.median(us[:half]), np.median(us[half:])]
    table.writerow([TENSORS * case.size, len(us), *(f"{cell:.2f}" for cell in cells)])
