import logging
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

logger = logging.getLogger("bench.log_softmax")
handler = logging.StreamHandler()
handler.setFormatter(logging.Formatter("%(levelname).1s %(name)s: %(message)s"))
logger.addHandler(handler)
logger.setLevel(logging.INFO)

# scoring head: (sequences, vocabulary)
CASES = [(16, 32000), (64, 32000), (32, 65536)]
WARMUP = 5
SAMPLES = 20


def score(logits):
    return F.log_softmax(logits, dim=-1)


def collect(logits):
    for _ in range(WARMUP):
        score(logits)
    torch.npu.synchronize()
    laps = np.empty(SAMPLES)
    for i in range(SAMPLES):
        t0 = time.perf_counter()
        score(logits)
        torch.npu.synchronize()
        laps[i] = time.perf_counter() - t0
    return laps * 1e6


def main():
    logger.info("device: %s", torch.npu.get_device_name(0))
    for sequences, vocab in CASES:
        logits = torch.randn(sequences, vocab).npu()
        us = collect(logits)
        p50, p99, p999 = np.percentile(us, [50, 99, 99.9])
        logger.info("scoring call (with its wait) %d x %d fp32: P50 %.1f us, P99 %.1f us, P99.9 %.1f us",
                    sequences, vocab, p50, p99, p999)
        logger.info("  -> tail latency budget for this head: at most one call in 1000 takes longer than %.1f us", p999)


if __name__ == "__main__":
    main()
