"""Transposing copy (x.t().contiguous()): first result, way to steadiness, steady state. Three separate statements."""
import statistics as st
import time

import torch
import torch_npu

SHAPE, WINDOW, TOLERANCE, CAP, FINAL = (512, 384), 20, 0.03, 400, 80


def transposing_copy(x):
    return x.t().contiguous()


def lap(x):
    torch.npu.synchronize()
    t = time.perf_counter()
    y = transposing_copy(x)
    torch.npu.synchronize()
    return (time.perf_counter() - t) * 1e6, y


def settle(x):
    """Calls until the medians of two neighbouring windows agree; gives all of the times, and whether it got there."""
    times = []
    while len(times) < CAP:
        times.append(lap(x)[0])
        if len(times) >= 2 * WINDOW:
            old, new = st.median(times[-2 * WINDOW:-WINDOW]), st.median(times[-WINDOW:])
            if abs(new - old) <= TOLERANCE * old:
                return times, True
    return times, False


torch.manual_seed(19)
host = torch.randn(SHAPE)
x = host.npu()
torch.npu.synchronize()                 # device awake, input up: neither belongs to "first result"

first, y = lap(x)
right = torch.equal(y.cpu(), host.t()) and y.is_contiguous()
assert right
way, steady = settle(x)
# The stopping rule looks at the times, so its own samples are biased; the figure comes from new ones:
final = [lap(x)[0] for _ in range(FINAL)]

print(f"x.t().contiguous() on {SHAPE[0]}x{SHAPE[1]} fp32 -- bitwise what the host transposes")
print(f"(1) first result        {first:10.1f} us   compilation/loading included; happens once per process, n=1, no error bar possible")
label = f"{len(way)} calls" if steady else f"not reached in {CAP} calls"
print(f"(2) until steady        {label}; rule: medians of {WINDOW} and {WINDOW} calls within {TOLERANCE:.0%}; they ranged {min(way):.1f}..{max(way):.1f} us")
if steady:
    q = st.quantiles(final, n=4)
    print(f"(3) afterwards          {q[1]:10.1f} us   median of {FINAL} further calls, quartiles {q[0]:.1f} / {q[2]:.1f}, all within {min(final):.1f}..{max(final):.1f}")
    print(f"    so the first one took {first / q[1]:.1f} times a steady one, in this process")
else:
    print("(3) no steady state, no figure. The calls recorded after the cap: " + ", ".join(f"{v:.0f}" for v in final[:5]) + f", ... ({FINAL} in all)")
print("Each call is waited for and the wait is inside. Same input every time, under 1 MB: warm L2 after (1).")
