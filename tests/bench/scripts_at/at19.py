"""RMS norm written by hand (no fused operator), fp16 in and out, fp32 inside."""
import logging
import statistics
import sys

import torch
import torch_npu

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="[%(asctime)s] %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger(__name__)

EPS = 1e-6
ITERS = 10
ROUNDS = 5


def rms_norm(x, weight):
    xf = x.float()
    inv = torch.rsqrt(xf.pow(2).mean(-1, keepdim=True) + EPS)
    return (xf * inv).to(x.dtype) * weight


def bench(tokens, hidden):
    x = torch.randn(tokens, hidden, device="npu").half()
    w = torch.ones(hidden, device="npu").half()
    bad = torch.zeros((), dtype=torch.int64, device="npu")

    def body():
        y = rms_norm(x, w)
        bad.add_((~torch.isfinite(y)).sum())

    for _ in range(5):
        body()
    torch.npu.synchronize()

    us = []
    for _ in range(ROUNDS):
        start = torch.npu.Event(enable_timing=True)
        stop = torch.npu.Event(enable_timing=True)
        start.record()
        for _ in range(ITERS):
            body()
        stop.record()
        stop.synchronize()
        us.append(start.elapsed_time(stop) * 1e3 / ITERS)
    return us, int(bad.item())


def main():
    torch.manual_seed(19)
    log.info("hand-written rms_norm, eager, %d rounds of %d calls", ROUNDS, ITERS)
    for tokens, hidden in ((128, 1024), (256, 1024), (256, 2048)):
        us, bad = bench(tokens, hidden)
        if bad:
            log.error("%d x %d: %d values are not finite", tokens, hidden, bad)
            continue
        log.info("%4d x %d: rms_norm takes %.1f us (range %.1f - %.1f)",
                 tokens, hidden, statistics.median(us), min(us), max(us))


if __name__ == "__main__":
    main()
