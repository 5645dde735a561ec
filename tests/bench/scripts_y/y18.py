import torch
import torch_npu
import numpy as np
import pandas as pd

ROWS, COLUMNS, SAMPLES, CALLS, LIMIT = 2048, 512, 80, 4, 5.0


def collect(fn):
    for _ in range(12):
        fn()
    torch.npu.synchronize()
    marks = [torch.npu.Event(enable_timing=True) for _ in range(SAMPLES + 1)]
    marks[0].record()
    for mark in marks[1:]:
        for _ in range(CALLS):
            fn()
        mark.record()
    torch.npu.synchronize()
    return pd.Series([a.elapsed_time(b) * 1e3 / CALLS for a, b in zip(marks, marks[1:])], name="us")


def far_out(us):
    distance = (us - us.median()).abs()
    return distance > LIMIT * 1.4826 * max(distance.median(), 0.01)


torch.manual_seed(14)
x = torch.randn(ROWS, COLUMNS).npu()
weight, bias = torch.rand(COLUMNS).npu(), torch.rand(COLUMNS).npu()


def norm():
    return torch.nn.functional.layer_norm(x, (COLUMNS,), weight, bias)


want = torch.nn.functional.layer_norm(x.cpu(), (COLUMNS,), weight.cpu(), bias.cpu())
torch.testing.assert_close(norm().cpu(), want, rtol=1e-4, atol=1e-4)

everything = collect(norm)
out = far_out(everything)
kept = everything[~out]

print(f"layer norm, {ROWS} x {COLUMNS}, float32, affine, L2 warm; device time per call by events, {CALLS} calls a sample")
p10, p50, p90, p99 = np.percentile(everything, [10, 50, 90, 99])
print(f"all {len(everything)} samples, none left out: P10 {p10:.2f} us, P50 {p50:.2f} us, P90 {p90:.2f} us, P99 {p99:.2f} us, largest {everything.max():.2f} us")
print(f"samples further than {LIMIT:g} robust deviations from the median: {int(out.sum())} of {len(everything)}", end="")
print(f", namely {[round(v, 2) for v in everything[out]]} us" if out.any() else "")
half = 1.96 * kept.std() / len(kept) ** 0.5
print(f"mean without those {int(out.sum())}: {kept.mean():.2f} +- {half:.2f} us (95%, {len(kept)} samples); with them: {everything.mean():.2f} us")
