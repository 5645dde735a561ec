"""Memory bandwidth that an embedding lookup reaches: float32 table of 8192 rows, 8192 lookups. Prints JSON."""
import json

import numpy as np
import torch
import torch_npu  # noqa: F401

ROWS, LOOKUPS, SAMPLES = 8192, 8192, 40
WIDTHS = (256, 512, 1024)


def lookup_us(width):
    torch.manual_seed(width)
    table = torch.nn.Embedding(ROWS, width).npu().requires_grad_(False)
    ids = torch.randint(0, ROWS, (LOOKUPS,)).npu()
    for _ in range(8):
        table(ids)
    torch.npu.synchronize()
    marks = []
    for _ in range(SAMPLES):
        start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        start.record()
        table(ids)
        end.record()
        marks.append((start, end))
    torch.npu.synchronize()
    return np.array([1e3 * start.elapsed_time(end) for start, end in marks])


def describe(width):
    us = lookup_us(width)
    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    moved = 2 * LOOKUPS * width * 4 + LOOKUPS * 8
    return {"width": width, "samples": len(us), "p10_us": round(p10, 2), "p50_us": round(p50, 2),
            "p90_us": round(p90, 2), "mbytes": round(moved / 1e6, 1), "gb_per_s": round(moved / p50 / 1e3)}


report = {"what": "nn.Embedding, rows read and written", "table_rows": ROWS, "lookups": LOOKUPS,
          "results": [describe(width) for width in WIDTHS]}
best = max(report["results"], key=lambda row: row["gb_per_s"])
report["conclusion"] = (f"the lookup draws up to {best['gb_per_s']} GB/s from memory (width {best['width']}); "
                        f"at width {WIDTHS[0]} it is {report['results'][0]['gb_per_s']} GB/s")
print(json.dumps(report, indent=2))
