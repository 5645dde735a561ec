"""cumsum along rows: does it help to hand over the output buffer?"""
import logging
import time

import torch
import torch_npu

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S")

ROWS, COLUMNS = 256, 1024
WARM, RUNS, CALLS = 3, 4, 10


def fresh(x, out):
    return torch.cumsum(x, dim=1)


def reuse(x, out):
    return torch.cumsum(x, dim=1, out=out)


def timed(function, x, out):
    torch.npu.synchronize()
    t = time.perf_counter()
    for _ in range(CALLS):
        function(x, out)
    torch.npu.synchronize()
    return (time.perf_counter() - t) * 1e6 / CALLS


def main():
    torch.set_num_threads(1)
    x = torch.randn(ROWS, COLUMNS, device="npu")
    out = torch.empty_like(x)
    assert torch.equal(fresh(x, out), reuse(x, out).clone())

    for _ in range(WARM):
        timed(fresh, x, out)
        timed(reuse, x, out)

    sums = {fresh: 0.0, reuse: 0.0}
    for run in range(RUNS):
        for function in (fresh, reuse) if run % 2 == 0 else (reuse, fresh):
            sums[function] += timed(function, x, out)
    mean = {function: total / RUNS for function, total in sums.items()}

    logging.info("cumsum of %d x %d float32, mean of %d runs of %d calls", ROWS, COLUMNS, RUNS, CALLS)
    for function, us in mean.items():
        logging.info("%-6s %.3f us per call", function.__name__, us)
    winner = min(mean, key=mean.get)
    loser = max(mean, key=mean.get)
    logging.info("winner: %s, faster by %.2f %%; use it for this shape", winner.__name__,
                 (mean[loser] / mean[winner] - 1) * 100)


if __name__ == "__main__":
    main()
