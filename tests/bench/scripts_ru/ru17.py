"""What one sample costs in batches of several sizes."""

import statistics as st
import time

import torch
import torch_npu

CALLS, WINDOWS, FEATURES = 10, 15, 128

torch.manual_seed(4)
model = torch.nn.Sequential(
    torch.nn.Linear(FEATURES, 256), torch.nn.SiLU(), torch.nn.Linear(256, 64)
).npu().requires_grad_(False)


def window(x):
    """One window: wait, CALLS forward passes, wait. Returns (host us, device us) of a pass."""
    a = torch.npu.Event(enable_timing=True)
    b = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()  # opens
    t = time.perf_counter()
    a.record()
    for _ in range(CALLS):
        model(x)
    b.record()
    torch.npu.synchronize()  # closes
    host = time.perf_counter() - t
    return host * 1e6 / CALLS, a.elapsed_time(b) * 1e3 / CALLS


batches = [1, 4, 16, 32]
data = {n: torch.randn(n, FEATURES, device="npu") for n in batches}
taken = {n: [] for n in batches}
for x in data.values():
    window(x)
for _ in range(WINDOWS):
    for n, x in data.items():
        taken[n].append(window(x))

print(f"Forward of a {FEATURES}-256-64 MLP in float32. A window is {CALLS} passes between two waits:")
print("the opening one is over before the clock starts, the closing one is the last thing in the window.")
for n in batches:
    host, device = zip(*taken[n])
    spread = st.quantiles(host, n=10)
    mid = st.median(host)
    print(f" * batch {n}")
    print(f"    - pass, host clock: {mid:.2f} us (median of {WINDOWS} windows; p10 {spread[0]:.2f}, p90 {spread[8]:.2f})")
    print(f"    - pass, between the events: {st.median(device):.2f} us (median)")
    print(f"    - per sample, host clock: {mid / n:.3f} us, that is {n / mid * 1e6:.0f} samples/s")
print("Weights and inputs are the same in all passes, hence cached.")
