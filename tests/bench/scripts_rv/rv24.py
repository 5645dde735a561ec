"""AdamW, decoupled decay: a loop over the parameters against torch._foreach_*."""
import time
from functools import wraps

import torch
import torch_npu

torch.set_num_threads(1)
SIZES = [(128, 128)] * 6 + [(128,)] * 6
LR, B1, B2, EPS, DECAY = 1e-3, 0.9, 0.95, 1e-8, 0.01
RUNS = 25


def until_done(step):
    @wraps(step)
    def inner(state):
        fence = torch.npu.Event()
        t = time.perf_counter_ns()
        step(state)
        fence.record()
        fence.synchronize()
        return (time.perf_counter_ns() - t) / 1e3
    return inner


class State:
    def __init__(self):
        g = torch.Generator().manual_seed(30)
        self.p = [torch.randn(s, generator=g).to("npu") for s in SIZES]
        self.g = [torch.randn(s, generator=g).to("npu") for s in SIZES]
        self.m = self.v = None
        self.t = 0

    def tick(self):
        if self.m is None:
            self.m = [torch.zeros_like(p) for p in self.p]
            self.v = [torch.zeros_like(p) for p in self.p]
        self.t += 1
        return LR / (1 - B1**self.t), (1 - B2**self.t) ** 0.5


@until_done
def loop(s):
    rate, fix = s.tick()
    for p, g, m, v in zip(s.p, s.g, s.m, s.v):
        p.mul_(1 - LR * DECAY)
        m.lerp_(g, 1 - B1)
        v.mul_(B2).addcmul_(g, g, value=1 - B2)
        p.addcdiv_(m, (v.sqrt() / fix).add_(EPS), value=-rate)


@until_done
def foreach(s):
    rate, fix = s.tick()
    torch._foreach_mul_(s.p, 1 - LR * DECAY)
    torch._foreach_lerp_(s.m, s.g, 1 - B1)
    torch._foreach_mul_(s.v, B2)
    torch._foreach_addcmul_(s.v, s.g, s.g, 1 - B2)
    d = torch._foreach_sqrt(s.v)
    torch._foreach_div_(d, fix)
    torch._foreach_add_(d, EPS)
    torch._foreach_addcdiv_(s.p, s.m, d, -rate)


states = {loop: State(), foreach: State()}
torch.npu.synchronize()
first = {f: f(s) for f, s in states.items()}
for f, s in states.items():
    for _ in range(4):
        f(s)
us = {f: [] for f in states}
for _ in range(RUNS):
    for f, s in states.items():
        us[f].append(f(s))
gap = max((a - b).abs().max().item() for a, b in zip(states[loop].p, states[foreach].p))
mid = {f: sorted(v)[RUNS // 2] for f, v in us.items()}

count = sum(p.numel() for p in states[loop].p)
print(f"We have {len(SIZES)} float32 parameters, {count:,} numbers in all, with gradients that are given and stay as they are "
      f"(no backward pass is in here). The loop goes first, each time.")
for f in states:
    print(f"With '{f.__name__}' an update is through after {mid[f]:.0f} us as a rule, {min(us[f]):.0f} when all goes well and "
          f"{max(us[f]):.0f} when it does not; the very first one, which also makes the two moments and meets operators not loaded yet, needed {first[f]:.0f}.")
print(f"So foreach does {mid[loop] / mid[foreach]:.2f} updates where the loop does one. ('As a rule' is the median of {RUNS}, "
      f"the first five not among them; the clock is the host's and stops when an event behind the update has come in.)")
print(f"After {states[loop].t} updates the two sets of parameters differ by {gap:.1e} at most.")
