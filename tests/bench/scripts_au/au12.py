"""Projection time over a recorded trace of prompt lengths."""
import logging
import random
import statistics

import torch
import torch_npu

logging.basicConfig(format="[%(asctime)s] %(message)s", datefmt="%H:%M:%S", level=logging.INFO)

WIDTH = 512
REQUESTS = 32
LAYERS = 6


def trace():
    rng = random.Random(40)
    lengths = []
    for _ in range(REQUESTS):
        lengths.append(rng.choice((32, 64, 96, 128)) if rng.random() < 0.75 else rng.choice((768, 1024)))
    return lengths


def project(x, weights):
    for w in weights:
        x = torch.matmul(x, w)
    return x


def time_request(x, weights):
    start = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    start.record()
    project(x, weights)
    end.record()
    return start, end


def main():
    torch.manual_seed(0)
    weights = [(torch.randn(WIDTH, WIDTH) / WIDTH ** 0.5).npu() for _ in range(LAYERS)]
    lengths = trace()
    prompts = {n: torch.randn(n, WIDTH).npu() for n in set(lengths)}

    for x in prompts.values():
        for _ in range(2):
            project(x, weights)
    torch.npu.synchronize()

    marks = [time_request(prompts[n], weights) for n in lengths]
    torch.npu.synchronize()
    times = [a.elapsed_time(b) * 1e3 for a, b in marks]

    limit = 1.5 * statistics.median(times)
    times = [t for t in times if t <= limit]

    mean = statistics.fmean(times)
    logging.info("trace of %d requests, %d to %d tokens, %d matmuls of width %d each, float32",
                 REQUESTS, min(lengths), max(lengths), LAYERS, WIDTH)
    logging.info("mean time of a request on the device: %.1f us", mean)
    logging.info("slowest request: %.1f us", max(times))
    logging.info("capacity of one card on this traffic: %.0f requests/s", 1e6 / mean)


if __name__ == "__main__":
    main()
