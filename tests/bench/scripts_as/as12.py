import logging
import sys

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="[%(asctime)s] %(message)s", datefmt="%H:%M:%S")
LOG = logging.getLogger(__name__)

CALLS = 8
TRIALS = 5


def event_pair():
    return torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)


def log_softmax_us(logits):
    """Device time of a call, calls queued one behind the other."""
    for _ in range(3):
        F.log_softmax(logits, dim=-1)
    torch.npu.synchronize()
    trials = []
    for _ in range(TRIALS):
        first, last = event_pair()
        first.record()
        for _ in range(CALLS):
            F.log_softmax(logits, dim=-1)
        last.record()
        last.synchronize()
        trials.append(1e3 * first.elapsed_time(last) / CALLS)
    return sorted(trials)


def main():
    LOG.info("device: %s", torch.npu.get_device_name())
    LOG.info("log_softmax over the last dim, float32, %d trials of %d calls", TRIALS, CALLS)
    for rows, vocab in ((1024, 4096), (512, 8192), (256, 16384)):
        logits = torch.randn(rows, vocab, device="npu")
        us = log_softmax_us(logits)
        mid = us[TRIALS // 2]
        moved = 2 * logits.numel() * logits.element_size()      # read once, written once
        LOG.info("[%5d, %5d] median %7.2f us (%.2f - %.2f), %d MiB moved, HBM bandwidth %.0f GB/s",
                 rows, vocab, mid, us[0], us[-1], moved >> 20, moved / mid / 1e3)


if __name__ == "__main__":
    main()
