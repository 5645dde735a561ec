import csv
import dataclasses
import statistics
import sys
import time

import torch
import torch_npu

torch.set_num_threads(1)


@dataclasses.dataclass
class Row:
    rows: int
    cols: int
    dtype: str
    layout: str
    samples: int
    call_plus_wait_us_p50: float
    call_plus_wait_us_p95: float
    idle_wait_us_p50: float
    mib_read_and_written: float


def clocked(fn, samples=100, spare=10):
    out = []
    for i in range(spare + samples):
        torch.npu.synchronize()
        t0 = time.perf_counter_ns()
        fn()
        torch.npu.synchronize()
        t1 = time.perf_counter_ns()
        if i >= spare:
            out.append((t1 - t0) / 1e3)
    return out


def p(values, percent):
    return round(statistics.quantiles(values, n=100, method="inclusive")[percent - 1], 2)


idle = p(clocked(lambda: None), 50)
table = csv.DictWriter(sys.stdout, [f.name for f in dataclasses.fields(Row)], lineterminator="\n")
print("# host clock; a sample is ONE call and ONE torch.npu.synchronize(), the wait is part of it and not subtracted")
print("# idle_wait_us: the same sample without a call. 'transpose' = x.t().contiguous(), 'plain' = x.clone(); both copy each element once")
print("# same source in all samples, at most 1 MiB: reads come from cache")
table.writeheader()
for rows, cols in ((256, 256), (512, 512), (1024, 128), (128, 1024)):
    for dtype in (torch.float16, torch.float32):
        x = torch.arange(rows * cols, dtype=torch.float32).remainder(2048).view(rows, cols).to(dtype).npu()
        assert torch.equal(x.t().contiguous().cpu(), x.cpu().t())
        for layout, fn in (("transpose", lambda: x.t().contiguous()), ("plain", lambda: x.clone())):
            us = clocked(fn)
            table.writerow(dataclasses.asdict(Row(
                rows, cols, str(dtype)[6:], layout, len(us), p(us, 50), p(us, 95), idle, round(2 * x.nbytes / 2**20, 3))))
