import labkit
import csv
import statistics
import sys

import torch
import torch.nn.functional as F

WARM = 12
SAMPLES = 32
EPS = 1e-6
SHAPES = [(512, 2048), (512, 4096), (1024, 4096)]
FIELDS = ["operator", "dtype", "rows", "hidden", "l2", "n", "p25_us", "p50_us", "p75_us", "min_us", "max_us"]


def device_times_us(rows, hidden):
    x = torch.randn(rows, hidden, device="npu").to(torch.float16)
    gain = torch.ones(hidden, device="npu", dtype=torch.float16)
    for _ in range(WARM):
        y = F.rms_norm(x, (hidden,), gain, EPS)
    torch.npu.synchronize()
    assert y.dtype == torch.float16 and y.shape == x.shape

    marks = [torch.npu.Event(enable_timing=True) for _ in range(2 * SAMPLES)]
    for i in range(SAMPLES):
        marks[2 * i].record()
        y = F.rms_norm(x, (hidden,), gain, EPS)
        marks[2 * i + 1].record()
    torch.npu.synchronize()

    wide = x.float()
    want = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)
    torch.testing.assert_close(y.float(), want, rtol=1e-2, atol=1e-2)
    return [1000.0 * marks[2 * i].elapsed_time(marks[2 * i + 1]) for i in range(SAMPLES)]


def main():
    out = csv.DictWriter(sys.stdout, FIELDS, lineterminator="\n")
    out.writeheader()
    for rows, hidden in SHAPES:
        us = device_times_us(rows, hidden)
        p25, p50, p75 = statistics.quantiles(us, n=4)
        out.writerow({
            "operator": "rms_norm", "dtype": "float16", "rows": rows, "hidden": hidden, "l2": "warm", "n": len(us),
            "p25_us": f"{p25:.2f}", "p50_us": f"{p50:.2f}", "p75_us": f"{p75:.2f}",
            "min_us": f"{min(us):.2f}", "max_us": f"{max(us):.2f}",
        })
    print("# us on the device between two events around one call; same input each time, so L2 is warm;")
    print("# valid for these three shapes only, and no statement about HBM")


main()
