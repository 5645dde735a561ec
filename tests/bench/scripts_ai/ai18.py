"""softmax in float32 and float16, by a decorator with parameters."""
from functools import wraps
from itertools import product

import numpy as np
import torch
import torch_npu

REGISTER = {}


def benchmark(*, samples, burn_in, **axes):
    """Cases are all combinations of the axes. The function gets one case and gives back (call, check)."""
    def decorate(build):
        @wraps(build)
        def run():
            cases = [dict(zip(axes, values)) for values in product(*axes.values())]
            built = [build(**case) for case in cases]
            for call, check in built:
                check(call())
                for _ in range(burn_in):
                    call()
            torch.npu.synchronize()
            marks = [[] for _ in cases]
            for i in range(samples):
                at = i % len(cases)                       # who begins moves on with each round
                for j in (*range(at, len(cases)), *range(at)):
                    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
                    a.record()
                    built[j][0]()
                    b.record()
                    marks[j].append((a, b))
            torch.npu.synchronize()
            return [(case, np.array([1e3 * a.elapsed_time(b) for a, b in m])) for case, m in zip(cases, marks)]
        REGISTER[build.__name__] = run
        return run
    return decorate


@benchmark(samples=400, burn_in=12, shape=[(32, 256), (64, 1024), (128, 1024)], dtype=[torch.float32, torch.float16])
def softmax(shape, dtype):
    values = torch.randn(shape, generator=torch.Generator().manual_seed(shape[1])).to(dtype)
    x = values.npu()
    assert x.dtype is dtype
    want = torch.softmax(values.double(), -1)

    def call():
        return torch.softmax(x, -1)

    def check(y):
        assert y.dtype is dtype
        limit = 1e-6 if dtype is torch.float32 else 1e-3
        assert (y.double().cpu() - want).abs().max() < limit
    return call, check


for name, run in REGISTER.items():
    print(f"{name} along the last dimension, hot L2, result in the dtype of the input; events around each call, cases taking turns")
    print(f"{'shape':>12} {'dtype':>9} {'calls':>6} {'P5':>8} {'P50':>8} {'P95':>8} {'max':>9} us {'GB/s at P50':>12}")
    for case, us in run():
        rows, cols = case["shape"]
        moved = 2 * rows * cols * case["dtype"].itemsize
        p5, p50, p95 = np.percentile(us, [5, 50, 95])
        print(f"{rows:>5} x {cols:<4} {str(case['dtype'])[6:]:>9} {len(us):>6} {p5:>8.2f} {p50:>8.2f} {p95:>8.2f} {us.max():>9.2f}    {moved / p50 / 1e3:>12.1f}")
    print("The bytes are those of the dtype in the line: equal times in both mean half the GB/s for float16.")
