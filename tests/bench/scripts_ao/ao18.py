import csv
import sys
from statistics import median
from time import process_time as now

import torch
import torch_npu

REDUCTIONS = {
    "sum": lambda x: x.sum(dim=-1),
    "mean": lambda x: x.mean(dim=-1),
    "amax": lambda x: x.amax(dim=-1),
}
SHAPES = [(32, 1024), (128, 1024), (64, 8192)]
WARMUP, SAMPLES, CALLS = 6, 15, 8


def sample(fn, x):
    torch.npu.synchronize()
    t0 = now()
    for _ in range(CALLS):
        fn(x)
    torch.npu.synchronize()
    return (now() - t0) / CALLS * 1e6


def rows():
    for shape in SHAPES:
        x = torch.randn(shape, device="npu")
        for name, fn in REDUCTIONS.items():
            torch.testing.assert_close(fn(x).cpu(), fn(x.cpu()), rtol=1e-3, atol=1e-2)
            for _ in range(WARMUP):
                fn(x)
            us = sorted(sample(fn, x) for _ in range(SAMPLES))
            yield {
                "op": name, "rows": shape[0], "cols": shape[1], "dtype": "float32",
                "median_us": f"{median(us):.2f}", "p10_us": f"{us[SAMPLES // 10]:.2f}",
                "p90_us": f"{us[9 * SAMPLES // 10]:.2f}", "samples": SAMPLES,
            }


out = csv.DictWriter(sys.stdout, "op rows cols dtype median_us p10_us p90_us samples".split())
out.writeheader()
for row in rows():
    out.writerow(row)
print("# Time that a caller waits for one reduction over the last dimension, us per call, 8 calls per wait, "
      "x hot in L2; for the shapes listed.")
