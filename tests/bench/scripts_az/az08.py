"""SwiGLU activation: silu(gate) * up in two launches against torch_npu.npu_swiglu.

The projection before it writes gate and up next to each other, [tokens, 2 * ffn].  Both sides get that tensor.
"""
import logging
import statistics

import torch
import torch.nn.functional as F
import torch_npu

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("swiglu")

SHAPES = [(64, 1024), (256, 1024), (512, 2048)]
REPS, INNER = 10, 10


def two_launches(packed):
    gate, up = packed.chunk(2, dim=-1)
    return F.silu(gate) * up


def fused(packed):
    return torch_npu.npu_swiglu(packed, dim=-1)


def sample(fn, packed):
    e0 = torch.npu.Event(enable_timing=True)
    e1 = torch.npu.Event(enable_timing=True)
    e0.record()
    for _ in range(INNER):
        fn(packed)
    e1.record()
    e1.synchronize()
    return 1000.0 * e0.elapsed_time(e1) / INNER


def compare(tokens, ffn):
    packed = torch.randn(tokens, 2 * ffn, device="npu", dtype=torch.float16)
    torch.testing.assert_close(two_launches(packed).cpu(), fused(packed).cpu(), rtol=5e-3, atol=5e-3)
    for fn in (two_launches, fused):
        sample(fn, packed)
    got = {two_launches: [], fused: []}
    for rep in range(REPS):
        order = (two_launches, fused) if rep % 2 else (fused, two_launches)
        for fn in order:
            got[fn].append(sample(fn, packed))
    return got[two_launches], got[fused]


def main():
    torch.set_num_threads(1)
    log.info("device %s, float16, %d repeats of %d back-to-back calls, input left in the cache",
             torch.npu.get_device_name(0), REPS, INNER)
    for tokens, ffn in SHAPES:
        eager, one = compare(tokens, ffn)
        a, b = statistics.median(eager), statistics.median(one)
        log.info("%4d x %4d: two launches %.1f us [%.1f, %.1f], npu_swiglu %.1f us [%.1f, %.1f], ratio %.2f",
                 tokens, ffn, a, min(eager), max(eager), b, min(one), max(one), a / b)
    log.info("us are per call, back to back, brackets are min and max; small shapes can be bound by how fast "
             "the host issues, and the ratio is only for the shapes listed")


if __name__ == "__main__":
    main()
