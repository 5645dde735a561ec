"""Picks the chunk length for the chunked log-softmax of the loss (logits 1024 x 8192, fp32, one npu)."""
import math
import random

import torch
import labkit  # noqa: F401

ROWS, VOCAB = 1024, 8192
CHUNKS = (344, 360, 384, 416, 448, 480)
DEFAULT = 384


def make_loss(logits, labels, chunk):
    """Mean cross entropy, `chunk` rows at a time, so that the probabilities never exist as a whole."""
    def run():
        total = torch.zeros((), device="npu")
        for begin in range(0, ROWS, chunk):
            part = logits[begin:begin + chunk]
            logp = torch.log_softmax(part, dim=-1)
            total = total - logp.gather(1, labels[begin:begin + chunk, None]).sum()
        return total / ROWS
    return run


def elapsed_us(fn):
    """Device time between two events; one wait, behind both."""
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    a.record()
    fn()
    b.record()
    torch.npu.synchronize()
    return 1e3 * a.elapsed_time(b)


def main():
    g = torch.Generator().manual_seed(4)
    logits = torch.randn(ROWS, VOCAB, generator=g).npu()
    labels = torch.randint(VOCAB, (ROWS,), generator=g).npu()
    runs = {chunk: make_loss(logits, labels, chunk) for chunk in CHUNKS}

    want = torch.nn.functional.cross_entropy(logits.cpu(), labels.cpu()).item()
    for chunk, run in runs.items():          # right results first; this also warms each of them up
        for _ in range(6):
            got = run()
        assert math.isclose(got.item(), want, rel_tol=1e-4), chunk

    order = list(CHUNKS)
    random.Random(9).shuffle(order)          # nobody gains from its place
    us = {chunk: elapsed_us(runs[chunk]) for chunk in order}

    print(f"logits {ROWS} x {VOCAB} fp32, warm, L2 as the previous candidate left it, device time by events")
    for chunk in CHUNKS:
        print(f"  chunk {chunk:4}: {us[chunk]:7.1f} us  ({math.ceil(ROWS / chunk)} pieces)")
    best = min(us, key=us.get)
    print(f"best chunk at this shape: {best}, {100 * (us[DEFAULT] / us[best] - 1):.1f} % faster than the default of {DEFAULT}")


if __name__ == "__main__":
    main()
