"""Writes a Markdown table about matmul in bfloat16."""
import time

import numpy as np
import torch
import torch_npu  # noqa: F401

SHAPES = [(128, 256, 512), (256, 512, 512), (256, 1024, 512), (32, 1024, 1024)]
SETS, QUEUE, SAMPLES, WARMUP = 4, 4, 30, 3

lines = [
    "## matmul, bfloat16",
    "",
    f"`torch.mm` on {torch.npu.get_device_name(0)}, torch {torch.__version__}. A sample is {QUEUE} calls issued without a",
    f"pause and one wait, divided by {QUEUE}: launch cost is part of it wherever the device is faster than the host.",
    f"{SAMPLES} samples for a shape, shapes interleaved, {WARMUP} samples of warm-up each; {SETS} operand pairs in turn, in L2.",
    "",
    "| M | K | N | p10 us | p50 us | p90 us | issue us | TFLOP/s (p50) |",
    "|--:|--:|--:|-------:|-------:|-------:|---------:|--------------:|",
]


def make(m, k, n):
    pairs = []
    for _ in range(SETS):
        a = torch.randn(m, k, device="npu").bfloat16()
        b = torch.randn(k, n, device="npu").bfloat16()
        pairs.append((a, b))
    a, b = pairs[0]
    error = (torch.mm(a, b).cpu().float() - a.cpu().float() @ b.cpu().float()).abs().max().item()
    assert error < 0.02 * k**0.5 * 4, error
    return pairs


def sample(pairs):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for i in range(QUEUE):
        torch.mm(*pairs[i % SETS])
    issued = time.perf_counter()
    torch.npu.synchronize()
    finished = time.perf_counter()
    return (finished - t0) / QUEUE * 1e6, (issued - t0) / QUEUE * 1e6


operands = {shape: make(*shape) for shape in SHAPES}
for pairs in operands.values():
    for _ in range(WARMUP):
        sample(pairs)

done = {shape: [] for shape in SHAPES}
for r in range(SAMPLES):
    shift = r % len(SHAPES)
    for shape in SHAPES[shift:] + SHAPES[:shift]:
        done[shape].append(sample(operands[shape]))

for (m, k, n), pairs in done.items():
    whole, issue = np.array(pairs).T
    p10, p50, p90 = np.percentile(whole, [10, 50, 90])
    lines.append(
        f"| {m} | {k} | {n} | {p10:.2f} | {p50:.2f} | {p90:.2f} | {np.median(issue):.2f} | {2 * m * k * n / p50 / 1e6:.2f} |"
    )
lines += ["", "`issue` is the host's share alone: until the calls had returned, before the wait. It is no time of a matmul."]
print("\n".join(lines))
