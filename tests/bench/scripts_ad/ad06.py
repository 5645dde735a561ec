"""Compiled text encoder on ragged batches: time of a step in steady state.

The batches of the crawl are padded to the longest text in them, so that their lengths differ. Compilation is done
before the clock starts and is not part of the figures. A step is timed on the host with a wait at its end, because
the pipeline hands each result on before it takes the next batch.
"""
import logging
import statistics
import time

import torch
import torch_npu

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger(__name__)

WIDTH = 32
BATCH = 4
LENGTHS = [12, 20, 15, 26, 18]


def block(x, w_in, w_out):
    h = torch.nn.functional.gelu(x @ w_in)
    return torch.nn.functional.layer_norm(x + h @ w_out, (WIDTH,))


def batches(lengths):
    return [torch.randn(BATCH, length, WIDTH).npu() for length in lengths]


@torch.no_grad()
def main():
    torch.manual_seed(1)
    w_in = (torch.randn(WIDTH, 2 * WIDTH) / 8).npu()
    w_out = (torch.randn(2 * WIDTH, WIDTH) / 12).npu()
    step = torch.compile(block, dynamic=False)
    data = batches(LENGTHS)

    for _ in range(6):
        step(data[0], w_in, w_out)
    torch.npu.synchronize()
    log.info("compiled and warm; %d batches of %d texts, lengths %s", len(data), BATCH, LENGTHS)

    times = []
    for epoch in range(4):
        for x in data:
            begin = time.perf_counter()
            step(x, w_in, w_out)
            torch.npu.synchronize()
            times.append((time.perf_counter() - begin) * 1e3)

    tokens = 4 * BATCH * sum(LENGTHS)
    quantiles = statistics.quantiles(times, n=20)
    log.info("step: mean %.3f ms, median %.3f ms, P95 %.3f ms, n=%d", statistics.fmean(times),
             statistics.median(times), quantiles[-1], len(times))
    log.info("rate of the compiled encoder: %.0f padded tokens/s at width %d", tokens / (sum(times) / 1e3), WIDTH)


if __name__ == "__main__":
    main()
