import itertools
import time

import torch
import torch_npu
from torch.utils import benchmark


def clock():
    torch.npu.synchronize()
    return time.perf_counter()


def conv_measurement(n, c, side, kernel):
    torch.manual_seed(0)
    x = torch.randn(n, c, side, side).npu()
    conv = torch.nn.Conv2d(c, c, kernel, padding=kernel // 2).npu().requires_grad_(False)
    timer = benchmark.Timer(
        stmt="conv(x)",
        globals={"conv": conv, "x": x},
        timer=clock,
        label="Conv2d forward, fp32, stride 1, x and weights warm in L2",
        sub_label=f"[{n}, {c}, {side}, {side}]",
        description=f"{kernel}x{kernel}",
    )
    timer.timeit(5)  # until the operator is loaded
    runs = [timer.timeit(6) for _ in range(11)]
    return benchmark.Measurement.merge(runs)[0]


sizes = [(2, 32, 28), (1, 32, 28), (4, 32, 14), (2, 16, 56)]
results = [conv_measurement(*size, kernel) for size, kernel in itertools.product(sizes, (1, 3))]

table = benchmark.Compare(results)
table.trim_significant_figures()
table.print()
print("medians of 11 runs of 6 calls, each run ended by one synchronize; interquartile ranges:")
for m in results:
    print(f"  {m.sub_label:18} {m.description}: {1e6 * m.median:.2f} us, IQR {1e6 * m.iqr:.2f} us")
