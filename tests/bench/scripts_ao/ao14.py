"""Transposed copy: x.transpose(-2, -1).contiguous() against copy_ into a buffer made beforehand."""
import time

import torch
import torch.utils.benchmark as bm
import torch_npu


def device_timer():
    torch.npu.synchronize()
    return time.perf_counter()


def candidates(n, m):
    x = torch.randn(n, m, device="npu")
    out = torch.empty(m, n, device="npu", dtype=torch.half)
    env = {"x": x, "out": out}
    common = dict(globals=env, timer=device_timer, label="transpose copy", sub_label=f"{n} x {m}", num_threads=1)
    fresh = bm.Timer(stmt="x.transpose(-2, -1).contiguous()", description="contiguous()", **common)
    into = bm.Timer(stmt="out.copy_(x.transpose(-2, -1))", description="copy_ into buffer", **common)
    want = x.cpu().t()
    torch.testing.assert_close(x.transpose(-2, -1).contiguous().cpu(), want, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(out.copy_(x.transpose(-2, -1)).cpu(), want, rtol=1e-3, atol=1e-3, check_dtype=False)
    return fresh, into


results = []
for n, m in [(128, 128), (256, 512), (1024, 256), (512, 1024)]:
    pair = candidates(n, m)
    for t in pair:
        t.timeit(5)
    runs = {0: [], 1: []}
    for r in range(6):
        for which in ((0, 1) if r % 2 else (1, 0)):
            runs[which].append(pair[which].timeit(10))
    merged = [bm.Measurement.merge(runs[i])[0] for i in (0, 1)]
    a, b = merged
    results += merged
    print(f"{n} x {m}: allocation and copy {a.median * 1e6:.2f} us (IQR {a.iqr * 1e6:.2f}), "
          f"copy into the ready buffer {b.median * 1e6:.2f} us (IQR {b.iqr * 1e6:.2f}); "
          f"not allocating the result changes the same transposed copy by {(b.median / a.median - 1) * 100:+.1f} %")
bm.Compare(results).print()
print("Wall time per call, 10 calls per wait, x in L2 (hot).")
