"""Host <-> device copies, pageable and pinned."""
import logging
import statistics
import time

import torch
import torch_npu  # noqa: F401

logging.basicConfig(level=logging.INFO, format="%(message)s")
say = logging.getLogger("copies").info

GIB = 1 << 30
TRIALS = 15


def clocked(copy):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    copy()
    torch.npu.synchronize()
    return time.perf_counter() - t0


def study(label, copy, nbytes):
    for _ in range(3):
        copy()
    laps = sorted(clocked(copy) for _ in range(TRIALS))
    mid = statistics.median(laps)
    say("%-22s %6.1f KiB  median %8.1f us  [%8.1f .. %8.1f]  %6.2f GiB/s", label, nbytes / 1024,
        mid * 1e6, laps[0] * 1e6, laps[-1] * 1e6, nbytes / mid / GIB)


def main():
    torch.set_num_threads(1)
    say("%s; both ends allocated beforehand; one copy and one wait per sample, so the figure is the",
        torch.npu.get_device_name())
    say("latency of a lone copy and the rate that follows from it, not what a pipeline of copies reaches")
    for numel in (1 << 14, 1 << 18, 1 << 21):
        pageable = torch.randn(numel)
        pinned = pageable.clone().pin_memory()
        there = torch.empty(numel, device="npu")
        back = torch.empty(numel)
        back_pinned = torch.empty(numel).pin_memory()
        nbytes = numel * pageable.element_size()

        study("H2D pageable", lambda: there.copy_(pageable), nbytes)
        study("H2D pinned, async", lambda: there.copy_(pinned, non_blocking=True), nbytes)
        study("D2H pageable", lambda: back.copy_(there), nbytes)
        study("D2H pinned, async", lambda: back_pinned.copy_(there, non_blocking=True), nbytes)
        torch.npu.synchronize()
        if not (torch.equal(back, pageable) and torch.equal(back_pinned, pageable)):
            raise SystemExit("a copy went wrong")
    say("1 GiB/s = 2**30 bytes per second")


if __name__ == "__main__":
    main()
