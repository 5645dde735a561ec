import labkit
import statistics

import torch

WINDOW = 10
TOLERANCE = 0.01
PATIENCE = 20
SAMPLES = 60


def window_us(call, count):
    """Device time of `count` single calls; one wait behind all of them."""
    pairs = []
    for _ in range(count):
        begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        pairs.append((begin, end))
    pairs[-1][1].synchronize()
    return [1e3 * a.elapsed_time(b) for a, b in pairs]


def until_steady(call):
    """Run windows until three neighbours have medians within TOLERANCE; they serve as warm-up and are not reported."""
    medians = []
    while len(medians) < PATIENCE:
        medians.append(statistics.median(window_us(call, WINDOW)))
        last = medians[-3:]
        if len(last) == 3 and max(last) <= (1 + TOLERANCE) * min(last):
            return len(medians) * WINDOW
    raise SystemExit(f"not steady after {PATIENCE * WINDOW} calls: {medians}")


for rows, columns in (512, 2048), (1024, 2048), (1024, 4096):
    x = torch.rand(rows, columns, device="npu")
    y = torch.empty_like(x)

    def call():
        torch.cumsum(x, dim=1, out=y)

    warm = until_steady(call)
    us = window_us(call, SAMPLES)
    reference = x[:4].cpu().double().cumsum(1)
    assert torch.allclose(y[:4].cpu().double(), reference, rtol=1e-4), "wrong result"
    q1, q2, q3 = statistics.quantiles(us, n=4)
    print(f"cumsum(dim=1) float32 {rows} x {columns}: median {q2:.2f} us, middle half {q1:.2f} to {q3:.2f} us, "
          f"slowest {max(us):.2f} us; all {len(us)} samples after a warm-up of {warm} calls")
print("Device time by events. Input and output (at most 32 MiB) stay in the L2, so these are warm-cache times.")
print("Other axes, types and lengths were not measured.")
