import json
import os
import pathlib
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import torch_npu

ROWS, COLS, PICK = 1 << 16, 64, 1 << 13
ROUNDS, PER = 25, 8


def orders():
    """Name and PER different index vectors, on the card before anything is timed."""
    g = torch.Generator().manual_seed(12)
    yield "contiguous run", [(torch.arange(PICK) + k * PICK).to("npu") for k in range(PER)]
    yield "every 8th row", [(torch.arange(PICK) * 8 + k).to("npu") for k in range(PER)]
    yield "random, with repeats", [torch.randint(0, ROWS, (PICK,), generator=g).to("npu") for k in range(PER)]


def rounds(table, indices):
    while True:
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        torch.npu.synchronize()
        t = time.perf_counter()
        a.record()
        for i in indices:
            torch.index_select(table, 0, i)
        b.record()
        torch.npu.synchronize()
        t = time.perf_counter() - t
        yield a.elapsed_time(b) * 1e3 / PER, t * 1e6 / PER


table = torch.randn(ROWS, COLS).half().to("npu")
per_call = PICK * (2 * COLS * table.element_size() + 8)
found = []
for name, indices in orders():
    assert torch.equal(torch.index_select(table, 0, indices[0]).cpu(), table.cpu()[indices[0].cpu()])
    source = rounds(table, indices)
    for _ in range(3):
        next(source)
    data = np.array([next(source) for _ in range(ROUNDS)])
    device, host = np.percentile(data, [50, 90], axis=0).T
    found.append({
        "order": name,
        "device_us_per_select": dict(zip(("p50", "p90"), device.round(2).tolist())),
        "host_us_per_select_wait_shared": dict(zip(("p50", "p90"), host.round(2).tolist())),
        "rows_per_us_device_p50": round(PICK / device[0], 1),
        "GB_per_s_device_p50": round(per_call / device[0] / 1e3, 1),
    })

doc = {
    "select": f"{PICK} of {ROWS} rows, {COLS} float16 each, int64 indices",
    "cache": f"table of {ROWS * COLS * 2 >> 20} MiB is L2 resident, so GB_per_s is no HBM figure and may exceed it",
    "bytes": "rows read + rows written + indices read",
    "sample": f"{PER} selects with {PER} index vectors, one wait, divided by {PER}; {ROUNDS} samples; launch gaps inside",
    "found": found,
}
target = pathlib.Path(tempfile.gettempdir(), "index_select_orders.json")
target.write_text(json.dumps(doc, indent=2))
print(target.read_text())
