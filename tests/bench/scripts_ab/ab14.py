"""Row sums in the quantiser: does the readable torch.einsum("rc->r", x) cost anything over x.sum(-1)?"""
import numpy as np
import torch
import torch_npu

torch.set_num_threads(1)

SAMPLES = 2000
rng = np.random.default_rng(11)


def plain(x):
    return x.sum(-1)


def einsum(x):
    return torch.einsum("rc->r", x)


def collect(call, x):
    for _ in range(30):
        call(x)
    torch.npu.synchronize()
    begin = [torch.npu.Event(enable_timing=True) for _ in range(SAMPLES)]
    end = [torch.npu.Event(enable_timing=True) for _ in range(SAMPLES)]
    for a, b in zip(begin, end):
        a.record()
        call(x)
        b.record()
    torch.npu.synchronize()
    return 1e3 * np.array([a.elapsed_time(b) for a, b in zip(begin, end)])


def interval(old, new):
    ratios = [np.median(rng.choice(new, len(new))) / np.median(rng.choice(old, len(old))) for _ in range(300)]
    return np.round(np.percentile(ratios, (2.5, 97.5)), 3)


def case(rows, columns):
    torch.manual_seed(0)
    x = torch.randn(rows, columns, device="npu")
    torch.testing.assert_close(plain(x).cpu(), einsum(x).cpu(), rtol=1e-4, atol=1e-3)

    us = {call.__name__: collect(call, x) for call in (plain, einsum)}

    for name, values in us.items():
        q25, q50, q75 = np.percentile(values, (25, 50, 75))
        print(f"  {rows:>4} x {columns:<5} {name:<7} {q50:7.2f} us  IQR [{q25:.2f}, {q75:.2f}]  n={len(values)}")
    low, high = interval(us["plain"], us["einsum"])
    word = "slower" if low > 1 else "faster" if high < 1 else "the same within the interval"
    change = 100 * (np.median(us["einsum"]) / np.median(us["plain"]) - 1)
    print(f"  {rows:>4} x {columns:<5} einsum is {word}: {change:+.1f} %, ratio in [{low:.3f}, {high:.3f}] at 95 %")


print("sum of each row, float32, input re-used (L2 warm), device events")
for rows, columns in ((1024, 4096), (512, 2048)):
    case(rows, columns)
