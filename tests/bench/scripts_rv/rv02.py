"""Link check: how long until a block has arrived, both ways, from pinned and from pageable host memory."""
import csv
import sys
import time

import torch
import torch_npu

torch.set_num_threads(1)
SIZES = (64 << 10, 1 << 20, 8 << 20)
ROUNDS = 31


def arrived(dst, src, event, non_blocking):
    t0 = time.perf_counter_ns()
    dst.copy_(src, non_blocking=non_blocking)
    event.record()
    event.synchronize()
    return time.perf_counter_ns() - t0


def series(dst, src, non_blocking):
    events = [torch.npu.Event() for _ in range(ROUNDS)]
    for _ in range(5):
        dst.copy_(src, non_blocking=non_blocking)
    torch.npu.synchronize()
    return sorted(arrived(dst, src, e, non_blocking) for e in events)


def main():
    print("# each row: single transfers, one at a time; a sample runs from the call until its event has been waited for,")
    print("# so issue and wake-up of the host are inside. GB = 1e9 byte. best_us is the smallest of n.")
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["way", "host_memory", "bytes", "n", "best_us", "p50_us", "p90_us", "GB_per_s_at_p50"])
    for size in SIZES:
        card = torch.empty(size, dtype=torch.uint8, device="npu")
        for memory in "pinned", "pageable":
            host = torch.arange(size, dtype=torch.int64).to(torch.uint8)
            if memory == "pinned":
                host = host.pin_memory()
            keep = host.clone()
            for way in "H2D", "D2H":
                dst, src = (card, host) if way == "H2D" else (host, card)
                ns = series(dst, src, non_blocking=memory == "pinned")
                p50, p90 = ns[len(ns) // 2], ns[round(0.9 * (len(ns) - 1))]
                out.writerow([way, memory, size, len(ns), f"{ns[0] / 1e3:.1f}", f"{p50 / 1e3:.1f}",
                              f"{p90 / 1e3:.1f}", f"{size / p50:.3f}"])
            if not torch.equal(keep, host):
                raise SystemExit("the bytes that came back are not those that left")


main()
