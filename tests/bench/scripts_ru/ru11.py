# gelu: erf form vs tanh form
import time
from contextlib import contextmanager

import torch
import torch.nn.functional as F
import torch_npu

CALLS = 10


@contextmanager
def stopwatch(into):
    torch.npu.synchronize()
    begin = time.perf_counter()
    yield
    torch.npu.synchronize()
    into.append(time.perf_counter() - begin)


def quantile(values, q):
    return torch.tensor(values, dtype=torch.float64).quantile(q).item()


x = torch.randn(128, 256, device="npu")
forms = {"erf": "none", "tanh": "tanh"}
first, windows = {}, {name: [] for name in forms}

for name, mode in forms.items():
    with stopwatch(first.setdefault(name, [])):
        F.gelu(x, approximate=mode)
    for _ in range(CALLS):
        F.gelu(x, approximate=mode)
for _ in range(20):
    for name, mode in forms.items():
        with stopwatch(windows[name]):
            for _ in range(CALLS):
                F.gelu(x, approximate=mode)

gap = (F.gelu(x) - F.gelu(x, approximate="tanh")).abs().max().item()

print("gelu:")
print(f"  input: {{shape: {list(x.shape)}, dtype: float32, reused: true}}")
print(f"  largest_difference_between_forms: {gap:.2e}")
print("  unit: microseconds")
print("  steady_is: one window of calls from idle to idle, divided by the calls")
print(f"  calls_per_window: {CALLS}")
for name in forms:
    per_call = [w / CALLS * 1e6 for w in windows[name]]
    print(f"  {name}:")
    print(f"    first_call: {first[name][0] * 1e6:.1f}   # the first of this form here, erf came before tanh; loading is in it, the steady lines leave it out")
    print(f"    steady_p50: {quantile(per_call, 0.5):.2f}")
    print(f"    steady_p90: {quantile(per_call, 0.9):.2f}")
    print(f"    windows: {len(per_call)}")
