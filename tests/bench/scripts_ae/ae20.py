"""Host to device over the link, pageable and pinned, in Gbit/s, because the network sheet is in Gbit/s."""
import random
import statistics
import time

import torch
from torch.utils.benchmark import Timer
import labkit  # noqa: F401

SIZES_MIB = (1, 4, 16)
BLOCKS, CALLS = 11, 4


def waiting_clock():
    """Reads the clock when the device has nothing left to do; Timer calls it around a block of calls."""
    torch.npu.synchronize()
    return time.perf_counter()


def timers(mib):
    n = mib * 1024 * 1024 // 4
    target = torch.empty(n, device="npu")
    pageable = torch.ones(n)
    pinned = torch.ones(n).pin_memory()
    make = lambda source, flag: Timer("target.copy_(source, non_blocking=flag)", timer=waiting_clock,
                                      globals={"target": target, "source": source, "flag": flag})
    return {"pageable": make(pageable, False), "pinned": make(pinned, True)}


def gbit(mib, seconds):
    return mib * 1024 * 1024 * 8 / seconds / 1e9


def main():
    draw = random.Random(8)
    print(f"copy host -> device, fp32, same target again and again, {BLOCKS} blocks of {CALLS} copies behind each other, one wait a block")
    print(f"{'MiB':>4} {'memory':9} {'us a copy: min':>15} {'median':>9} {'max':>9}   Gbit/s at the median")
    found = {}
    for mib in SIZES_MIB:
        both = timers(mib)
        times = {name: [] for name in both}
        for t in both.values():
            t.timeit(8)                                     # warm
        for _ in range(BLOCKS):
            for name in draw.sample(list(both), 2):         # in turn, order drawn
                times[name].append(both[name].timeit(CALLS).mean)   # mean of a block: copies that overlap have no single time
        for name, seconds in times.items():
            mid = statistics.median(seconds)
            found[mib, name] = gbit(mib, mid)
            print(f"{mib:4} {name:9} {1e6 * min(seconds):15.1f} {1e6 * mid:9.1f} {1e6 * max(seconds):9.1f}   {found[mib, name]:.1f}")
    gain = {mib: found[mib, 'pinned'] / found[mib, 'pageable'] for mib in SIZES_MIB}
    print("pinned over pageable: " + ", ".join(f"{g:.2f} at {mib} MiB" for mib, g in gain.items())
          + "; one direction, one stream, 8 bits a byte, 1e9 bits a Gbit.")


if __name__ == "__main__":
    main()
