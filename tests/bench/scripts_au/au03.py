"""scatter_add_ into a histogram-like target: does it matter how often an index repeats?"""
import logging
import statistics

import torch
import torch_npu

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
log = logging.getLogger("scatter")

ROWS, COLS = 64, 512
REPS, WARM = 30, 5


def index_sets(gen):
    unique = torch.stack([torch.randperm(COLS, generator=gen) for _ in range(ROWS)])
    crowded = torch.randint(0, 8, (ROWS, COLS), generator=gen)
    return {"unique": unique.npu(), "8 bins": crowded.npu()}


def sample(target, index, src):
    """Returns the event pair around one scatter; the target is cleared ahead of the first event."""
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    target.zero_()
    begin.record()
    target.scatter_add_(1, index, src)
    end.record()
    return begin, end


def main():
    gen = torch.Generator().manual_seed(11)
    sets = index_sets(gen)
    src = torch.randn(ROWS, COLS, generator=gen).npu()
    target = torch.zeros(ROWS, COLS, device="npu")

    for _ in range(WARM):
        for index in sets.values():
            sample(target, index, src)
    torch.npu.synchronize()

    pairs = {name: [] for name in sets}
    names = list(sets)
    for rep in range(REPS):
        for name in (names if rep % 2 == 0 else names[::-1]):
            pairs[name].append(sample(target, sets[name], src))
    torch.npu.synchronize()

    log.info("target %d x %d float32, %d additions a call, everything resident in L2", ROWS, COLS, ROWS * COLS)
    log.info("%d samples each, the two index sets in turns, warm; clearing the target lies outside the events", REPS)
    spread = {}
    for name, taken in pairs.items():
        us = [b.elapsed_time(e) * 1e3 for b, e in taken]
        deciles = statistics.quantiles(us, n=10, method="inclusive")
        spread[name] = (deciles[0], statistics.median(us), deciles[-1])
        log.info("%-7s median %.1f us, P10 %.1f us, P90 %.1f us", name, spread[name][1], deciles[0], deciles[-1])

    (ulow, umid, uhigh), (clow, cmid, chigh) = spread["unique"], spread["8 bins"]
    if ulow > chigh or clow > uhigh:
        log.info("for this shape the crowded indices take %.2f times as long", cmid / umid)
    else:
        log.info("for this shape the P10-P90 ranges overlap: no difference seen")


main()
