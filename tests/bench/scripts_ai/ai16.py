"""A training step of a two-layer perceptron whose time is in its products: forward, backward, update."""
import time

import numpy as np
import torch
import torch_npu

DEVICE = torch.device("npu" if torch.npu.is_available() else "cuda" if torch.cuda.is_available() else "cpu")
BATCH, INNER = 1024, (512, 768, 256)
WARM, BLOCKS, STEPS = 3, 12, 3


def barrier():
    """The host waits for the accelerator."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


class Perceptron:
    def __init__(self, device):
        gen = torch.Generator().manual_seed(31)
        shapes = list(zip(INNER, INNER[1:]))
        self.weights = [(torch.randn(s, generator=gen) / s[0] ** 0.5).to(device).requires_grad_() for s in shapes]

    def loss(self, x, y):
        hidden = torch.matmul(x, self.weights[0]).relu()
        return (torch.matmul(hidden, self.weights[1]) - y).square().mean()

    def step(self, x, y, rate=1e-2):
        loss = self.loss(x, y)
        gradients = torch.autograd.grad(loss, self.weights)
        with torch.no_grad():
            for w, g in zip(self.weights, gradients):
                w.sub_(g, alpha=rate)
        return loss.detach()


def batches(count):
    gen = torch.Generator().manual_seed(32)
    return [(torch.randn(BATCH, INNER[0], generator=gen), torch.randn(BATCH, INNER[-1], generator=gen)) for _ in range(count)]


host = batches(STEPS)
data = [(x.to(DEVICE), y.to(DEVICE)) for x, y in host]
net, twin = Perceptron(DEVICE), Perceptron("cpu")
for (x, y), (hx, hy) in zip(data, host):
    ours, reference = net.step(x, y), twin.step(hx, hy)
    assert abs(ours.item() - reference.item()) < 1e-2 * abs(reference.item())

for _ in range(WARM):
    for x, y in data:
        net.step(x, y)
barrier()

us = []
for _ in range(BLOCKS):
    barrier()
    t0 = time.perf_counter()
    for x, y in data:
        net.step(x, y)
    barrier()
    us.append((time.perf_counter() - t0) / STEPS * 1e6)

q1, q2, q3 = np.percentile(us, [25, 50, 75])
flop = 2 * BATCH * (2 * INNER[0] * INNER[1] + 3 * INNER[1] * INNER[2])  # no gradient of x
print(f"training step on {DEVICE.type}: batch {BATCH}, widths {INNER}, float32, SGD, {STEPS} batches in rotation (hot L2)")
print(f"{BLOCKS} blocks of {STEPS} steps: median {q2:.1f} us a step, quartiles {q1:.1f} .. {q3:.1f}, longest block {max(us):.1f}")
print(f"products: {flop / 1e6:.1f} MFLOP a step, {flop / q2 / 1e6:.3f} TFLOP/s at the median")
