# Softmax inside a small loss, forward and backward, with torch.utils.benchmark.
# Its default timer waits for CUDA only; here the timer itself waits for the NPU before it reads the clock.
import time

import torch
import torch_npu
from torch.utils import benchmark

STEPS, MEASUREMENTS = 5, 36


def npu_clock():
    torch.npu.synchronize()
    return time.perf_counter()


def fwd_bwd(scores, values):
    loss = (torch.softmax(scores, dim=-1) * values).sum()
    (grad,) = torch.autograd.grad(loss, scores)
    return grad


def gradient_error(scores, values):
    s = scores.detach().cpu().double().requires_grad_()
    exact = fwd_bwd(s, values.cpu().double())
    return ((fwd_bwd(scores, values).cpu().double() - exact).norm() / exact.norm()).item()


def measure(rows, cols):
    torch.manual_seed(rows)
    scores = torch.randn(rows, cols, device="npu", requires_grad=True)
    values = torch.randn(rows, cols, device="npu")
    error = gradient_error(scores, values)
    timer = benchmark.Timer(
        stmt="fwd_bwd(scores, values)",
        globals={"fwd_bwd": fwd_bwd, "scores": scores, "values": values},
        timer=npu_clock, label="softmax loss", sub_label=f"{rows}x{cols}", description="forward+backward")
    timer.timeit(STEPS)                                    # compilation; thrown away
    # timeit() makes two untimed runs before each measurement, too
    raw = [t for _ in range(MEASUREMENTS) for t in timer.timeit(STEPS).raw_times]
    return benchmark.Measurement(STEPS, raw, timer._task_spec), error


print(f"forward + backward of sum(softmax(s) * v), gradient w.r.t. s; {MEASUREMENTS} measurements of {STEPS} steps with one wait each, first launches excluded")
for shape in ((32, 128), (128, 256), (128, 1024)):
    m, error = measure(*shape)
    per_step = sorted(t * 1e6 for t in m.times)
    q = len(per_step) // 4
    print(f"  {m.sub_label or shape!s:>9}: median {m.median * 1e6:8.1f} us per step, IQR {m.iqr * 1e6:.1f} "
          f"(25 % {per_step[q]:.1f}, 75 % {per_step[-q - 1]:.1f}), span {per_step[0]:.1f}-{per_step[-1]:.1f}, gradient vs float64 {error:.0e}")
print("There is no optimizer in the step. A value is the mean over 5 steps, hence single slow steps are smoothed: read no tails from it.")
print("Inputs stay the same between the steps and are small: cached. Shapes ran one after another and are not ranked against each other.")
