"""Two independent chains on one stream and on two streams, timed from the fork to the join."""
import logging
import statistics

import torch
import torch_npu

logging.basicConfig(level=logging.INFO, format="[%(levelname).1s] %(message)s")
log = logging.getLogger(__name__)

DEPTH, SIZE, REPEATS = 4, 256, 15


def chain(x, w):
    for _ in range(DEPTH):
        x = torch.tanh(x @ w)
    return x


def one_stream(xs, w, side):
    return [chain(x, w) for x in xs]


def two_streams(xs, w, side):
    main = torch.npu.current_stream()
    side.wait_stream(main)
    with torch.npu.stream(side):
        second = chain(xs[1], w)
    first = chain(xs[0], w)
    main.wait_stream(side)
    return [first, second]


def fork_to_join(function, *args):
    torch.npu.synchronize()
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    begin.record()
    function(*args)
    end.record()  # the main stream has waited for the side stream by then
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def main():
    torch.manual_seed(0)
    side = torch.npu.Stream()
    xs = [torch.randn(SIZE, SIZE, device="npu") for _ in range(2)]
    w = torch.randn(SIZE, SIZE, device="npu") / SIZE**0.5
    ways = {"one stream": one_stream, "two streams": two_streams}

    results = {name: way(xs, w, side) for name, way in ways.items()}
    torch.npu.synchronize()
    for a, b in zip(*results.values()):
        torch.testing.assert_close(a.cpu(), b.cpu())

    samples = {name: [] for name in ways}
    for r in range(REPEATS + 3):
        names = list(ways) if r % 2 else list(ways)[::-1]
        for name in names:
            us = fork_to_join(ways[name], xs, w, side)
            if r >= 3:
                samples[name].append(us)

    log.info("2 chains of %d x (matmul, tanh), %d x %d fp32; the first 3 rounds are warm-up", DEPTH, SIZE, SIZE)
    for name, us in samples.items():
        log.info("%-11s median %7.1f us, %.1f to %.1f, n=%d", name, statistics.median(us), min(us), max(us), len(us))
    log.info("issue by the host lies within these times for both ways")


if __name__ == "__main__":
    main()
