"""How long does the caller wait until a result is in host memory?"""
import csv
import io
import sys
import time

import numpy as np
import torch
import torch_npu

SIZES_KIB = (4, 64, 1024, 8192)
SAMPLES = 60


def laps(function, count):
    clock = time.perf_counter_ns
    for _ in range(count):
        torch.npu.synchronize()
        begin = clock()
        function()
        yield (clock() - begin) / 1e3


def download(kib):
    tensor = torch.arange(kib * 256, dtype=torch.float32, device="npu")
    assert torch.equal(tensor.cpu(), torch.arange(kib * 256, dtype=torch.float32))
    return tensor.cpu  # returns when the bytes are there


def main(out=sys.stdout):
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["kib", "n", "p25_us", "p50_us", "p75_us", "max_us", "gb_per_s_at_p50"])
    for kib in SIZES_KIB:
        fetch = download(kib)
        for _ in range(10):
            fetch()
        times = np.fromiter(laps(fetch, SAMPLES), dtype=float)
        p25, p50, p75 = np.percentile(times, (25, 50, 75))
        writer.writerow([kib, len(times), f"{p25:.1f}", f"{p50:.1f}", f"{p75:.1f}", f"{times.max():.1f}",
                         f"{kib * 1024 / p50 / 1e3:.3f}"])
    out.write("# tensor.cpu() into fresh pageable memory, device idle before each call, one call per sample, seen by the caller\n")
    out.write(buffer.getvalue())


main()
