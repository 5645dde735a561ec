import time

import torch
import torch_npu
from torch.utils.benchmark import Compare, Measurement, TaskSpec

CASES = [(1, 16, 32), (4, 16, 32), (4, 32, 28)]
BLOCKS, CALLS = 6, 10


def clock():
    torch.npu.synchronize()
    return time.perf_counter()


def measure(label, description, fn):
    raw = []
    for _ in range(BLOCKS):
        t0 = clock()
        for _ in range(CALLS):
            fn()
        raw.append(clock() - t0)
    spec = TaskSpec(
        stmt="conv(x)", setup="", label=label, sub_label=description, description="3x3, same padding, L2 warm"
    )
    return Measurement(number_per_run=CALLS, raw_times=raw, task_spec=spec)


results = []
with torch.no_grad():
    for n, c, side in CASES:
        x = torch.randn(n, c, side, side).npu()
        conv = torch.nn.Conv2d(c, c, 3, padding=1).npu()
        results.append(measure("conv2d forward, fp32", f"{n}x{c}x{side}x{side}", lambda: conv(x)))

Compare(results).print()
print(f"{BLOCKS} blocks of {CALLS} calls, one synchronize per block")
for m in results:
    low, high = min(m.times), max(m.times)
    print(f"{m.sub_label:14} mean {1e6 * m.mean:9.2f} us per call   (blocks from {1e6 * low:.2f} to {1e6 * high:.2f})")
