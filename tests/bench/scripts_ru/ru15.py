"""Rate over a stretch of time: keep issuing until the device itself says that enough of it has gone by."""

from itertools import product

import torch
import torch_npu

TARGET_MS = 5.0
BURST = 40


def event():
    e = torch.npu.Event(enable_timing=True)
    e.record()
    return e


def stretch(step):
    """(steps, ms) between two events, ended by the first burst that passes TARGET_MS."""
    begin, steps = event(), 0
    while True:
        for _ in range(BURST):
            step()
        steps += BURST
        now = event()
        now.synchronize()
        ms = begin.elapsed_time(now)
        if ms >= TARGET_MS:
            return steps, ms


def first_of(step):
    begin = event()
    step()
    end = event()
    end.synchronize()
    return begin.elapsed_time(end)


print(f"target_ms={TARGET_MS} burst={BURST} clock=events step=layer_norm+relu dtype=float32 wait=after_each_burst_and_inside_the_time warm_up=one_burst_per_shape says_nothing_about=a_hot_chip")
for batch, hidden in product((1, 16), (64, 256)):
    x = torch.randn(batch, hidden, device="npu")
    norm = torch.nn.LayerNorm(hidden).npu()

    @torch.no_grad()
    def step():
        torch.relu(norm(x))

    first_ms = first_of(step)
    for _ in range(BURST):
        step()
    torch.npu.synchronize()
    runs = sorted((stretch(step) for _ in range(3)), key=lambda r: r[0] / r[1])
    low, mid, high = (runs[i][0] / runs[i][1] * 1e3 for i in (0, 1, 2))
    print(
        f"batch={batch} hidden={hidden} first_step_of_shape_ms={first_ms:.4f} (not in the rates) runs=3 steps_in_median_run={runs[1][0]} "
        f"ms_of_median_run={runs[1][1]:.3f} steps_per_s_median={mid:.0f} steps_per_s_min={low:.0f} steps_per_s_max={high:.0f} "
        f"rows_per_s_median={mid * batch:.0f}"
    )
