"""Attention forward: the fused call and the spelled-out one."""

import logging
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

logging.basicConfig(level=logging.INFO, format="%(levelname).1s attn | %(message)s")
log = logging.getLogger(__name__)

B, H, S, D = 1, 2, 64, 64
PER_LAP, LAPS = 4, 14


def inputs():
    g = torch.Generator().manual_seed(21)
    return [torch.randn(B, H, S, D, generator=g).half().npu() for _ in range(3)]


def fused(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def spelled_out(q, k, v):
    scores = (q @ k.transpose(-1, -2)) * D**-0.5
    return torch.softmax(scores, dim=-1) @ v


def lap(fn, args):
    torch.npu.synchronize()
    t = time.perf_counter()
    for _ in range(PER_LAP):
        fn(*args)
    torch.npu.synchronize()
    return (time.perf_counter() - t) / PER_LAP * 1e6


def test_same_result():
    args = inputs()
    worst = (fused(*args).float() - spelled_out(*args).float()).abs().max().item()
    log.info("largest difference of the two outputs: %.1e (float16)", worst)
    assert worst < 1e-2


def test_time():
    args = inputs()
    pair = (fused, spelled_out)
    for fn in pair:
        lap(fn, args)
    laps = {fn: [] for fn in pair}
    for _ in range(LAPS):
        for fn in pair:
            laps[fn].append(lap(fn, args))
    log.info("B=%d H=%d S=%d D=%d, no mask, no gradients; %d laps of %d calls, idle before and after each lap", B, H, S, D, LAPS, PER_LAP)
    for fn in pair:
        p50, p90 = np.percentile(laps[fn], [50, 90])
        log.info("%-11s us per call: best case (fastest lap) %.1f | typical (median lap) %.1f | p90 lap %.1f", fn.__name__, min(laps[fn]), p50, p90)
    typical = [np.median(laps[fn]) for fn in pair]
    log.info("typical over typical: spelled_out / fused = %.2f", typical[1] / typical[0])


if __name__ == "__main__":
    with torch.no_grad():
        for name, fn in list(globals().items()):
            if name.startswith("test_"):
                fn()
