# Row-softmax cost per row, as a tab separated table for the planning sheet.
import sys
import time

import numpy as np
import torch
import torch_npu


def windows(fn, calls, n):
    """Yields n window times in seconds; the queue is empty at both ends of a window."""
    for _ in range(calls):
        fn()
    torch.npu.synchronize()
    for _ in range(n):
        start = time.perf_counter()
        for _ in range(calls):
            fn()
        torch.npu.synchronize()
        yield time.perf_counter() - start


def rows_to_measure():
    for rows, cols in [(32, 128), (32, 512), (128, 128), (128, 512)]:
        yield rows, cols, torch.randn(rows, cols, device="npu", dtype=torch.float32)


CALLS, WINDOWS = 20, 12
out = sys.stdout
out.write("rows\tcols\tdtype\tcalls_per_window\twindows\tus_per_call_p50\tns_per_row_p50\tns_per_row_p10\tns_per_row_p90\n")
for rows, cols, x in rows_to_measure():
    w = np.fromiter(windows(lambda: torch.softmax(x, dim=-1), CALLS, WINDOWS), dtype=np.float64)
    per_call = w / CALLS
    lo, mid, hi = np.percentile(per_call / rows * 1e9, [10, 50, 90])
    out.write(
        f"{rows}\t{cols}\t{str(x.dtype).removeprefix('torch.')}\t{CALLS}\t{WINDOWS}"
        f"\t{np.median(per_call) * 1e6:.2f}\t{mid:.2f}\t{lo:.2f}\t{hi:.2f}\n"
    )
out.write("# us_per_call = window / calls_per_window, launches back to back on one input that stays in cache\n")
out.write("# ns_per_row = us_per_call * 1000 / rows; percentiles are taken over window averages, not over single calls\n")
