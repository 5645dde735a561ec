"""Forward pass of a feature tower: time on its stream, from event to event, gaps of the issue included."""
import contextlib

import numpy as np
import torch
import torch_npu  # noqa: F401

torch.manual_seed(5)
BLOCK, SAMPLES = 8, 15


class Tower(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Stopwatch:
    def __init__(self):
        self.marks = []

    @contextlib.contextmanager
    def block(self):
        start = torch.npu.Event(enable_timing=True)
        stop = torch.npu.Event(enable_timing=True)
        start.record()
        yield
        stop.record()
        self.marks.append((start, stop))

    def microseconds(self, calls):
        torch.npu.synchronize()
        return np.array([start.elapsed_time(stop) for start, stop in self.marks]) * 1e3 / calls


def forward_time(tower, batches):
    for batch in batches[:3] * 4:
        tower(batch.to("npu", non_blocking=True))
    torch.npu.synchronize()
    watch = Stopwatch()
    for sample in range(SAMPLES):
        chunk = [batches[(sample + i) % len(batches)] for i in range(BLOCK)]
        with watch.block():
            for batch in chunk:
                tower(batch.to("npu", non_blocking=True))
    return watch.microseconds(BLOCK)


@torch.inference_mode()
def main():
    for rows, width in ((64, 128), (256, 256), (1024, 256)):
        tower = Tower(width).eval().npu()
        batches = [torch.randn(rows, width).pin_memory() for _ in range(10)]
        us = forward_time(tower, batches)
        low, mid, high = np.percentile(us, [10, 50, 90])
        print(f"Tower.forward [{rows}x{width}] float32: P50 {mid:.1f} us  P10 {low:.1f}  P90 {high:.1f}  "
              f"({us.size} samples of {BLOCK} calls)")


main()
