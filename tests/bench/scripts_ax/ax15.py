"""SwiGLU in the MLP of a language model: silu(gate) * up as two operators, or torch_npu.npu_swiglu.

The projection in front writes gate and up as one packed tensor, so both ways start from that: the first takes two
views of it, the second takes it as it is.
"""
import logging

import torch
import torch_npu
from torch.nn.functional import silu

log = logging.getLogger(__name__)

SHAPES = [(64, 1024), (256, 2048), (384, 4096)]
CALLS = 10
TRIES = 7


def two_operators(packed):
    gate, up = packed.chunk(2, dim=-1)
    return silu(gate) * up


def one_operator(packed):
    return torch_npu.npu_swiglu(packed, dim=-1)


def tries(function, packed):
    """us per call of each try."""
    marks = []
    for _ in range(TRIES):
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        a.record()
        for _ in range(CALLS):
            function(packed)
        b.record()
        marks.append((a, b))
    torch.npu.synchronize()
    return [a.elapsed_time(b) / CALLS * 1e3 for a, b in marks]


def main():
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(1)
    log.info("float32; best of %d tries of %d calls each, worst in brackets", TRIES, CALLS)
    log.info("event to event around the %d calls, over their number: where launches come slower than kernels end, the gaps count",
             CALLS)
    log.info("the same buffer is used over and over and fits into the L2: these are times with warm input")
    ratios = []
    for rows, hidden in SHAPES:
        packed = torch.randn(rows, 2 * hidden, device="npu")
        torch.testing.assert_close(two_operators(packed), one_operator(packed))
        for function in (two_operators, one_operator):
            tries(function, packed)
        two, one = tries(two_operators, packed), tries(one_operator, packed)
        ratio = min(two) / min(one)
        ratios.append(ratio)
        log.info("%4d x %-5d two operators %6.2f us (%.2f)   npu_swiglu %6.2f us (%.2f)   ratio of the best %.2f",
                 rows, hidden, min(two), max(two), min(one), max(one), ratio)
    log.info("over these %d shapes the ratio goes from %.2f to %.2f; other shapes were not measured",
             len(SHAPES), min(ratios), max(ratios))


main()
