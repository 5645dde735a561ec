#!/usr/bin/env python
"""Download cost by size and by kind of host memory. CSV on stdout, remarks start with '#'."""
import argparse
import csv
import math
import sys
import time

import torch
import torch_npu


def sizes(text):
    return [int(s) << 10 for s in text.split(",")]


parser = argparse.ArgumentParser()
parser.add_argument("--kib", type=sizes, default=sizes("64,512,4096"))
parser.add_argument("--trials", type=int, default=21)
args = parser.parse_args()


def rank(sorted_values, share):
    """Nearest rank, no interpolation."""
    return sorted_values[math.ceil(share * len(sorted_values)) - 1]


def trial(src, dst, non_blocking):
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    t0 = time.perf_counter()
    begin.record()
    dst.copy_(src, non_blocking=non_blocking)
    end.record()
    t1 = time.perf_counter()
    torch.npu.synchronize()
    t2 = time.perf_counter()
    return (t1 - t0) * 1e6, (t2 - t0) * 1e6, begin.elapsed_time(end) * 1e3


print("# direction: device to host, copy_ into an existing tensor, one copy in flight")
print("# returned_us: host clock until the calls are back; landed_us: host clock until synchronize is back")
print("# event_us: device clock around the copy; GB_per_s = bytes / event_us (decimal GB)")
print("# source is refilled before each trial, outside the clocks, then the first and last landed byte are compared")
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow("host_memory non_blocking bytes trials returned_us_p50 landed_us_p50 landed_us_p90 event_us_p50 GB_per_s_p50".split())
for nbytes in args.kib:
    src = torch.empty(nbytes, dtype=torch.uint8, device="npu")
    for kind, non_blocking in (("pageable", False), ("pinned", False), ("pinned", True)):
        dst = torch.empty(nbytes, dtype=torch.uint8)
        if kind == "pinned":
            dst = dst.pin_memory()
        for _ in range(3):
            trial(src, dst, non_blocking)
        rows = []
        for n in range(args.trials):
            src.fill_(n + 1)
            rows.append(trial(src, dst, non_blocking))
            if int(dst[0]) != n + 1 or int(dst[-1]) != n + 1:
                sys.exit(f"stale bytes after trial {n} ({kind}, {nbytes} bytes)")
        back, landed, event = (sorted(column) for column in zip(*rows))
        mid = rank(event, 0.5)
        out.writerow([kind, int(non_blocking), nbytes, args.trials, f"{rank(back, 0.5):.1f}", f"{rank(landed, 0.5):.1f}",
                      f"{rank(landed, 0.9):.1f}", f"{mid:.2f}", f"{nbytes / mid / 1e3:.2f}"])
