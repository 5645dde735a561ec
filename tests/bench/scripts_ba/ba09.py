import logging
import sys
import time

import numpy as np
import torch
import torch_npu
from torch import nn

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
say = logging.getLogger("layer_norm").info

TOKENS = (64, 512)
WIDTH = 768
N = 200


def alone(norm, x):
    """One call, then wait: what a caller who needs the result at once has to allow for."""
    out = np.empty(N)
    for i in range(N):
        begin = time.perf_counter()
        norm(x)
        torch.npu.synchronize()
        out[i] = time.perf_counter() - begin
    return out * 1e6


def in_a_row(norm, x, groups=20):
    """N calls in groups, a wait at the end of each group only."""
    size = N // groups
    out = np.empty(groups)
    for i in range(groups):
        begin = time.perf_counter()
        for _ in range(size):
            norm(x)
        torch.npu.synchronize()
        out[i] = (time.perf_counter() - begin) / size
    return out * 1e6


@torch.inference_mode()
def main():
    norm = nn.LayerNorm(WIDTH).to("npu").eval()
    say("LayerNorm(%d), fp32, input kept in place between calls", WIDTH)
    for tokens in TOKENS:
        x = torch.randn(tokens, WIDTH, device="npu")
        for _ in range(20):
            norm(x)
        torch.npu.synchronize()
        single, row = alone(norm, x), in_a_row(norm, x)
        p50, p90 = np.percentile(single, [50, 90])
        say("%4d tokens: call and wait, P50 %.1f us, P90 %.1f us (%d calls; host wake-up is part of it)", tokens, p50, p90, N)
        say("%4d tokens: in a row %.1f us per call, median of %d groups (%.1f to %.1f)",
            tokens, np.median(row), len(row), row.min(), row.max())
    say("the difference of the two is the host's round trip, not the norm")


if __name__ == "__main__":
    main()
