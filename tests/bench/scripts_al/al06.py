"""GELU: is the tanh approximation worth it? Paired rounds: in each round both are timed on the same buffer, in an order
that is drawn anew, each after the L2 was overwritten; what counts is the ratio within a round."""
import random
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

ROUNDS = 25
random.seed(11)
rng = np.random.default_rng(11)
l2 = torch.npu.get_device_properties(0).L2_cache_size
scratch = torch.empty(int(1.2 * l2), dtype=torch.int8, device="npu")


def timed(approximate, x):
    scratch.fill_(1)
    torch.npu.synchronize()
    t = time.perf_counter()
    F.gelu(x, approximate=approximate)
    torch.npu.synchronize()
    return (time.perf_counter() - t) * 1e6


def bootstrap(ratios, draws=1000):
    medians = np.median(rng.choice(ratios, (draws, len(ratios))), axis=1)
    return np.percentile(medians, [2.5, 97.5])


print(f"F.gelu, fp16, cold L2; us from call to finished result; {ROUNDS} paired rounds a shape")
for shape in [(64, 4096), (512, 4096), (2048, 4096)]:
    buffers = [torch.randn(*shape, dtype=torch.float16, device="npu") for _ in range(4)]
    apart = (F.gelu(buffers[0]) - F.gelu(buffers[0], approximate="tanh")).abs().max().item()
    for b in buffers:
        timed("none", b), timed("tanh", b)

    rows = []
    for r in range(ROUNDS):
        pair = ["none", "tanh"]
        random.shuffle(pair)
        got = {kind: timed(kind, buffers[r % len(buffers)]) for kind in pair}
        rows.append((got["none"], got["tanh"]))
    exact, tanh = np.array(rows).T
    ratio = tanh / exact
    low, high = bootstrap(ratio)

    print(f"{shape[0]:5d} x {shape[1]}")
    for name, us in (("erf", exact), ("tanh", tanh)):
        q1, q2, q3 = np.percentile(us, [25, 50, 75])
        print(f"      {name:<5} median {q2:8.2f} us   quartiles {q1:.2f} .. {q3:.2f}   range {us.min():.2f} .. {us.max():.2f}")
    verdict = "no difference shown" if low <= 1 <= high else ("tanh is faster" if high < 1 else "erf is faster")
    print(f"      tanh/erf {np.median(ratio):.3f} (95 % interval of the median {low:.3f} .. {high:.3f}): {verdict} "
          f"at this shape. Not the same function: the results differ by up to {apart:.1e}.")
