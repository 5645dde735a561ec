"""What does Python pay to issue an operator? Host time only, on purpose.

We look for the cost of a launch on the host's side: dispatch, argument checks, queueing. The device's work is NOT in
these figures; the clock stops when the last call of a short burst has been issued, and the wait comes after the
second reading. Before each burst the queue is empty, and the burst is short, so that the queue never fills up and
pushes back. Do not compare these figures with kernel times.
"""
import csv
import sys
import time

import numpy as np
import torch
import torch_npu

BURST = 4
REPEATS = 80


def issue_us(function):
    """Microseconds of the host for one issue; the device is left out."""
    for _ in range(10):
        function()
    torch.npu.synchronize()
    samples = []
    for _ in range(REPEATS):
        begin = time.perf_counter_ns()
        for _ in range(BURST):
            function()
        issued = time.perf_counter_ns()
        torch.npu.synchronize()
        samples.append((issued - begin) / BURST / 1e3)
    return np.array(samples)


@torch.no_grad()
def main():
    writer = csv.writer(sys.stdout)
    writer.writerow(["operator", "shape", "host_issue_p10_us", "host_issue_p50_us", "host_issue_p90_us", "samples"])
    for size in (16, 64, 128):
        x = torch.randn(size, size).npu()
        y = torch.randn(size, size).npu()
        out = torch.empty_like(x)
        operators = {
            "add": lambda: torch.add(x, y),
            "add_out": lambda: torch.add(x, y, out=out),
            "relu": lambda: torch.relu(x),
            "softmax": lambda: torch.softmax(x, -1),
        }
        for name, function in operators.items():
            p10, p50, p90 = np.percentile(issue_us(function), [10, 50, 90])
            writer.writerow([name, f"{size}x{size}", f"{p10:.2f}", f"{p50:.2f}", f"{p90:.2f}", REPEATS])
    print("# host side only: time to issue, no device time in it", file=sys.stderr)


if __name__ == "__main__":
    main()
