import logging

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(name)s | %(message)s")
log = logging.getLogger("gelu")

ITERS = 5
SAMPLES = 7
TOKENS = (32, 64, 128)
HIDDEN = 1024


def activations(tokens):
    """One tensor per layer, so that no call reads what the one before it has read."""
    torch.manual_seed(tokens)
    return [torch.randn(tokens, HIDDEN, device="npu", dtype=torch.float16) for _ in range(4)]


def run(fn, layers):
    for _ in range(ITERS):
        for h in layers:
            fn(h)


def per_call(fn, layers):
    run(fn, layers)
    torch.npu.synchronize()
    out = []
    for _ in range(SAMPLES):
        e0, e1 = (torch.npu.Event(enable_timing=True) for _ in range(2))
        e0.record()
        run(fn, layers)
        e1.record()
        torch.npu.synchronize()
        out.append(e0.elapsed_time(e1) * 1e3 / ITERS)
    out.sort()
    return out[0], out[len(out) // 2], out[-1]


def main():
    log.info("device %s, %d samples of %d rounds", torch.npu.get_device_name(), SAMPLES, ITERS)
    variants = {
        "none": lambda h: F.gelu(h),
        "tanh": lambda h: F.gelu(h, approximate="tanh"),
    }
    for tokens in TOKENS:
        layers = activations(tokens)
        for name, fn in variants.items():
            low, mid, high = per_call(fn, layers)
            log.info("F.gelu(approximate=%s) [%d, %d] fp16: %.2f us per call (%.2f .. %.2f)",
                     name, tokens, HIDDEN, mid, low, high)


if __name__ == "__main__":
    main()
