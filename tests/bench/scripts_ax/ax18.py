"""Do two independent branches run faster on two streams than one behind the other?"""
import logging
import statistics

import torch
import torch_npu

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(funcName)s: %(message)s")
log = logging.getLogger("streams")

SIZE, DEPTH, ROUNDS = 512, 6, 9


class Branch:
    def __init__(self, seed):
        gen = torch.Generator().manual_seed(seed)
        self.weight = (torch.randn(SIZE, SIZE, generator=gen) / SIZE**0.5).to("npu")
        self.stream = torch.npu.Stream()

    def run(self, x):
        for _ in range(DEPTH):
            x = x @ self.weight
        return x


def one_stream(branches, x):
    return [branch.run(x) for branch in branches]


def two_streams(branches, x):
    main_stream = torch.npu.current_stream()
    results = []
    for branch in branches:
        branch.stream.wait_stream(main_stream)
        with torch.npu.stream(branch.stream):
            results.append(branch.run(x))
    for branch in branches:
        main_stream.wait_stream(branch.stream)
    return results


def sample(way, branches, x):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    begin.record()
    way(branches, x)
    end.record()  # on the main stream, which by now waits for both branches
    torch.npu.synchronize()
    return begin.elapsed_time(end) * 1e3


def main():
    torch.set_num_threads(1)
    branches = [Branch(1), Branch(2)]
    x = torch.randn(SIZE, SIZE, device="npu")
    for a, b in zip(one_stream(branches, x), two_streams(branches, x)):
        torch.testing.assert_close(a, b)

    ways = [one_stream, two_streams]
    took = {way: [] for way in ways}
    for _ in range(2):
        for way in ways:
            sample(way, branches, x)
    for turn in range(ROUNDS):
        for way in ways if turn % 2 else ways[::-1]:
            took[way].append(sample(way, branches, x))

    for way, us in took.items():
        log.info("%-12s %7.1f us for both branches of %d matmuls (median of %d, %.1f to %.1f us)",
                 way.__name__, statistics.median(us), DEPTH, len(us), min(us), max(us))
    low, high = sorted(took.values(), key=statistics.median)
    if max(low) < min(high):
        gain = statistics.median(high) / statistics.median(low) - 1
        log.info("no overlap of the samples: the slower way takes %.1f %% more, at %d x %d float32", gain * 100, SIZE, SIZE)
    else:
        log.info("the samples overlap: no difference that we could stand by")
    log.info("from an idle device until both are done, so the host's issuing is part of it")


main()
