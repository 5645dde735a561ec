import functools
import time
from statistics import median

import torch
import torch_npu
import torch.nn.functional as F


def benchmarked(warmup=8, samples=40, inner=5):
    """Turn f(*args) into a function that returns sorted times per call in us.

    A sample is `inner` launches in a row and one wait; the time is that of the block / inner.
    """
    def wrap(f):
        @functools.wraps(f)
        def runner(*args):
            for _ in range(warmup):
                f(*args)
            torch.npu.synchronize()
            times = []
            for _ in range(samples):
                t0 = time.perf_counter_ns()
                for _ in range(inner):
                    f(*args)
                torch.npu.synchronize()
                times.append((time.perf_counter_ns() - t0) / inner / 1e3)
            return sorted(times)
        return runner
    return wrap


@benchmarked()
def conv(x, w, bias, stride):
    return F.conv2d(x, w, bias, stride=stride, padding=1)


def reference_ok(x, w, bias, stride):
    got = F.conv2d(x, w, bias, stride=stride, padding=1).float().cpu()
    want = F.conv2d(x.float().cpu(), w.float().cpu(), bias.float().cpu(), stride=stride, padding=1)
    return torch.allclose(got, want, rtol=2e-2, atol=2e-2)


torch.manual_seed(5)
print("conv2d 3x3 with bias, float16, batch 2; same input each call (hot cache), 5 calls per wait")
for cin, cout, side, stride in ((16, 32, 32, 1), (32, 32, 56, 1), (32, 64, 56, 2)):
    x = torch.randn(2, cin, side, side, device="npu", dtype=torch.float16)
    w = torch.randn(cout, cin, 3, 3, device="npu", dtype=torch.float16) / (3 * cin ** 0.5)
    b = torch.randn(cout, device="npu", dtype=torch.float16)
    assert reference_ok(x, w, b, stride), "conv2d differs from the CPU"
    t = conv(x, w, b, stride)
    print(f"  {cin:3d}->{cout:3d} channels, {side}x{side}, stride {stride}: median {median(t):7.2f} us per call, "
          f"p10 {t[len(t) // 10]:7.2f}, p90 {t[len(t) * 9 // 10]:7.2f}, slowest {t[-1]:7.2f} (n={len(t)})")
