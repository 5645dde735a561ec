import torch
import torch_npu  # noqa: F401
from torch.utils import benchmark

INNER = 20  # calls per wait, so that the device is never idle between them


def batch(fn, x):
    for _ in range(INNER):
        fn(x)
    torch.npu.synchronize()


for shape in ((64, 256), (128, 512), (200, 600)):
    x = torch.full(shape, 0.5, dtype=torch.float16, device="npu")
    for _ in range(3):
        batch(torch.tanh, x)
    timer = benchmark.Timer(stmt="batch(fn, x)", globals={"batch": batch, "fn": torch.tanh, "x": x}, num_threads=1)
    m = timer.timeit(5)
    runs = sorted(timer.timeit(5).median / INNER * 1e6 for _ in range(15))
    print(f"tanh fp16 {shape}, warm L2: first {m.median / INNER * 1e6:.2f} us")
    print(f"   p50 {runs[7]:.2f}  p10 {runs[1]:.2f}  p90 {runs[13]:.2f} us over {len(runs)} runs")
