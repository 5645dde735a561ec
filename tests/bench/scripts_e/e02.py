"""Timing of torch.cumsum, samples as a generator."""
import statistics

import torch
import torch_npu

Event = torch.npu.Event


def samples(function, batch=5):
    """Endless device times of function(), in microseconds a call."""
    for _ in range(20):
        function()
    torch.npu.synchronize()
    while True:
        marks = [Event(enable_timing=True) for _ in range(11)]
        marks[0].record()
        for mark in marks[1:]:
            for _ in range(batch):
                function()
            mark.record()
        torch.npu.synchronize()
        for a, b in zip(marks, marks[1:]):
            yield a.elapsed_time(b) * 1000 / batch


def clean(stream, count):
    """The first `count` samples that are no hiccups."""
    seen = []
    for us in stream:
        if len(seen) < 10 or us < 1.2 * statistics.median(seen):
            seen.append(us)
        if len(seen) == count:
            return seen


for shape in [(64, 256), (256, 1024), (1024, 1024)]:
    x = torch.ones(shape, device="npu")
    us = clean(samples(lambda: torch.cumsum(x, 1)), 120)
    q = statistics.quantiles(us, n=100)
    print(f"cumsum {shape}: median {q[49]:.2f} us, P90 {q[89]:.2f} us, P99 {q[98]:.2f} us (warm L2, batches of 5)")
