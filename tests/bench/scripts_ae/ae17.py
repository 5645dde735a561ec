"""FiLM step behind a batcher with mixed lengths: compiled throughput in tokens per second."""
import collections
import random
import time

import numpy as np
import torch
import labkit  # noqa: F401

Request = collections.namedtuple("Request", "length x scale shift")
LENGTHS = (64, 128, 192)
WIDTH, BATCH = 256, 2


def film(x, scale, shift):
    """Modulates every token of a sequence: x * scale + shift, through a SiLU."""
    return torch.nn.functional.silu(x * scale + shift)


def make(length):
    return Request(length, torch.randn(BATCH, length, WIDTH).npu(), torch.rand(BATCH, length, WIDTH).npu(),
                   torch.randn(BATCH, length, WIDTH).npu())


def traffic(count, seed, kinds):
    draw = random.Random(seed)
    return [kinds[draw.choice(LENGTHS)] for _ in range(count)]


@torch.inference_mode()
def warm_up(step):
    """The longest request first: memory has its final size, and the graph is built."""
    longest = make(max(LENGTHS))
    for _ in range(30):
        step(*longest[1:])
    torch.npu.synchronize()


@torch.inference_mode()
def serve(step, requests):
    """Tokens and seconds of a run; issued behind each other, one wait."""
    begin = time.perf_counter()
    for r in requests:
        step(*r[1:])
    torch.npu.synchronize()
    return BATCH * sum(r.length for r in requests), time.perf_counter() - begin


def main():
    torch.manual_seed(1)
    step = torch.compile(film, dynamic=False)
    warm_up(step)
    kinds = {n: make(n) for n in LENGTHS}                 # tensors exist before the clock starts
    loads = [traffic(20, seed, kinds) for seed in range(8)]
    torch.npu.synchronize()
    tokens, seconds = np.array([serve(step, load) for load in loads]).T
    low, high = np.percentile(tokens / seconds, [25, 75])
    print(f"silu(x * scale + shift), batch {BATCH}, width {WIDTH}, fp32, lengths drawn evenly from {LENGTHS}, inputs warm in the L2")
    print(f"{len(loads)} runs of 20 requests; quartiles of the runs {low:,.0f} and {high:,.0f} tokens/s")
    print(f"warm throughput of the compiled step on mixed lengths: {tokens.sum() / seconds.sum():,.0f} tokens/s over all runs")


if __name__ == "__main__":
    main()
