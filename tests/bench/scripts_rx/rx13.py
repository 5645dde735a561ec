"""Segment sums two ways. Log lines only, so they can go next to the trainer's."""
import logging
import statistics
import sys
import time

import torch
import torch_npu

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname).1s segsum: %(message)s")
log = logging.getLogger()

SEGMENTS, ITEMS, DIM = 500, 2000, 64


def harness(subjects, prepare, samples=40, discard=5):
    """subjects: name -> callable(arg). Every sample: idle device, clock, prepare, subject, drain, clock."""
    times = {name: [] for name in subjects}
    for turn in range(discard + samples):
        for name, subject in subjects.items():
            torch.npu.synchronize()
            tic = time.perf_counter_ns()
            subject(prepare())
            torch.npu.synchronize()
            toc = time.perf_counter_ns()
            if turn >= discard:
                times[name].append((toc - tic) / 1e3)
    return times


def main():
    g = torch.Generator().manual_seed(6)
    values = torch.randn(ITEMS, DIM, generator=g)
    where = torch.randint(SEGMENTS, (ITEMS,), generator=g)
    exact = torch.zeros(SEGMENTS, DIM, dtype=torch.float64).index_add_(0, where, values.double())

    vals, idx = values.to("npu"), where.to("npu")
    wide = idx[:, None].expand(-1, DIM).contiguous()
    acc = torch.zeros(SEGMENTS, DIM, device="npu")

    subjects = {
        "scatter_add_": lambda out: out.scatter_add_(0, wide, vals),
        "index_add_": lambda out: out.index_add_(0, idx, vals),
    }
    for name, subject in subjects.items():
        off = (subject(acc.zero_()).cpu().double() - exact).abs().max().item()
        log.info("%s: largest difference to the float64 sums is %.1e", name, off)
        if off > 1e-4:
            log.error("%s is wrong, not timing it", name)
            sys.exit(1)

    log.info("%d fp32 items of width %d into %d segments, indices drawn uniformly, collisions as they come", ITEMS, DIM, SEGMENTS)
    log.info("scatter_add_ reads an int64 index per element (%d KiB, expanded beforehand), index_add_ one per item (%d KiB)",
             wide.numel() * 8 // 1024, idx.numel() * 8 // 1024)
    log.info("a sample is: zero the sums, add, synchronize; host clock, so launch and wake-up are in it")
    times = harness(subjects, acc.zero_)
    floor = harness({"zero only": lambda out: out}, acc.zero_)
    for name, us in (times | floor).items():
        q = statistics.quantiles(us, n=20, method="inclusive")
        log.info("%-13s n=%d median %.1f us, 5 %% %.1f us, 95 %% %.1f us, mean %.1f us",
                 name, len(us), statistics.median(us), q[0], q[-1], statistics.fmean(us))
    log.info("'zero only' has the zeroing and the wait but no add, subtract at your own risk")


if __name__ == "__main__":
    main()
