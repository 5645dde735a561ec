"""AdamW over many small tensors: a loop, foreach, fused."""
import functools
import statistics
import time

import torch
import torch_npu

torch.set_num_threads(1)
TENSORS, SIDE, STEPS, SPARE = 16, 64, 40, 8


def two_clocks(fn):
    @functools.wraps(fn)
    def measured(*args):
        host, pairs = [], []
        for _ in range(SPARE + STEPS):
            torch.npu.synchronize()
            start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            t = time.perf_counter()
            start.record()
            fn(*args)
            end.record()
            torch.npu.synchronize()
            host.append((time.perf_counter() - t) * 1e6)
            pairs.append((start, end))
        device = [a.elapsed_time(b) * 1e3 for a, b in pairs]
        return host[SPARE:], device[SPARE:]
    return measured


@two_clocks
def nothing():
    pass


@two_clocks
def step(optimizer):
    optimizer.step()


def parameters():
    g = torch.Generator().manual_seed(31)
    out = []
    for _ in range(TENSORS):
        p = torch.nn.Parameter(torch.randn(SIDE, SIDE, generator=g).npu())
        p.grad = torch.randn(SIDE, SIDE, generator=g).npu()
        out.append(p)
    return out


def section(name, host, device):
    print(f"[{name}]")
    for clock, us in (("host", host), ("events", device)):
        q = statistics.quantiles(us, n=10, method="inclusive")
        print(f"{clock}_median_us = {statistics.median(us):.2f}")
        print(f"{clock}_p10_p90_us = [{q[0]:.2f}, {q[8]:.2f}]")
    print()


print(f'title = "AdamW.step(), {TENSORS} tensors of {SIDE} x {SIDE} float32, constant gradients"')
print(f"steps_timed = {STEPS}\nsteps_before = {SPARE}")
print('host = "idle to idle: recording two events, the step, one synchronize"')
print('events = "between the two events, gaps on the stream included"\n')

empty_host, empty_device = nothing()
section("empty_region", empty_host, empty_device)

ends = {}
for name, flags in {"loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}.items():
    ps = parameters()
    section(name, *step(torch.optim.AdamW(ps, lr=1e-3, weight_decay=0.01, **flags)))
    ends[name] = torch.stack([p.detach() for p in ps])

print("[notes]")
print('empty_region = "the same measurement of no work; NOT subtracted from the others"')
for name in ("foreach", "fused"):
    print(f"{name}_minus_loop_max_abs = {(ends[name] - ends['loop']).abs().max().item():.1e}  # parameters after {STEPS + SPARE} steps")
