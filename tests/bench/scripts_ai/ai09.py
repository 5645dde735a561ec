"""GELU in training: what forward and backward cost, once the times are steady."""
import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

WINDOW, CLOSE, MOST, SAMPLES = 12, 0.03, 30, 120


class Training:
    def __init__(self, rows, cols):
        gen = torch.Generator().manual_seed(rows)
        self.host = torch.randn(rows, cols, generator=gen)
        self.x = self.host.npu().requires_grad_()
        self.upstream = torch.ones(rows, cols).npu()

    def step(self):
        start, stop = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        self.x.grad = None
        start.record()
        y = F.gelu(self.x)
        stop.record()
        y.backward(self.upstream)
        return start, stop

    def verify(self):
        self.step()
        x = self.host.clone().requires_grad_()
        F.gelu(x).sum().backward()
        torch.testing.assert_close(self.x.grad.cpu(), x.grad, rtol=1e-4, atol=1e-5)

    def window(self, count):
        marks = [self.step() for _ in range(count)]
        torch.npu.synchronize()
        return np.array([1e3 * a.elapsed_time(b) for a, b in marks])


def until_steady(training):
    levels = [np.median(training.window(WINDOW))]
    while len(levels) < MOST:
        levels.append(np.median(training.window(WINDOW)))
        if abs(levels[-1] - levels[-2]) <= CLOSE * levels[-2]:
            return len(levels) * WINDOW
    raise RuntimeError(f"not steady after {MOST * WINDOW} steps: {levels[-3:]}")


print("GELU in training, float32, hot L2; time of forward + backward on the device, by events")
print(f"{'shape':>12} {'settled after':>14} {'samples':>8} {'P10':>8} {'P50':>8} {'P90':>8} {'max':>8}  us")
for rows, cols in (128, 512), (256, 1024), (512, 1024):
    training = Training(rows, cols)
    training.verify()
    used = until_steady(training)
    us = training.window(SAMPLES)
    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    print(f"{rows:>5} x {cols:<4} {used:>14} {len(us):>8} {p10:>8.2f} {p50:>8.2f} {p90:>8.2f} {us.max():>8.2f}")
