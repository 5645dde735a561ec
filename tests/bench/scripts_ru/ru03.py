import json
import statistics
import time

import torch
import torch_npu

ROWS, DIM = 8192, 64
PER_WINDOW = 20
WINDOWS = 11


def lookup_window(table, index):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(PER_WINDOW):
        table.index_select(0, index)
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / PER_WINDOW


def describe(table, picks):
    index = torch.randint(0, ROWS, (picks,), device="npu")
    lookup_window(table, index)
    took = sorted(lookup_window(table, index) for _ in range(WINDOWS))
    mid = statistics.median(took)
    result_bytes = picks * DIM * table.element_size()
    return {
        "rows_picked": picks,
        "us_per_lookup": {"min": took[0] * 1e6, "median": mid * 1e6, "max": took[-1] * 1e6},
        "result_GB_per_s_at_median": result_bytes / mid / 1e9,
    }


def descend(table, picks):
    """The widest first, then a quarter of it, and so on."""
    if picks < 128:
        return []
    return [describe(table, picks), *descend(table, picks // 4)]


def rounded(node):
    if isinstance(node, dict):
        return {key: rounded(value) for key, value in node.items()}
    if isinstance(node, list):
        return [rounded(value) for value in node]
    return round(node, 3) if isinstance(node, float) else node


table = torch.randn(ROWS, DIM, device="npu")
report = {
    "what": "Tensor.index_select(0, random rows)",
    "table": {"shape": [ROWS, DIM], "dtype": "float32", "MiB": ROWS * DIM * 4 / 2**20},
    "window": {
        "opens": "behind torch.npu.synchronize()",
        "closes": "behind torch.npu.synchronize()",
        "lookups": PER_WINDOW,
        "windows_per_entry": WINDOWS,
        "windows_discarded_before": 1,
    },
    "min_median_max_of": "window averages",
    "locality": "one index per entry is used again in all its lookups, so the table rows are cached: best locality",
    "rate_counts": "bytes of the result only, neither reads nor indices",
    "entries": descend(table, 2048),
}
print(json.dumps(rounded(report), indent=1))
