"""SwiGLU feed-forward: separate gate/up projections against one packed projection (forward + backward)."""
import random
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_npu


class SwiGLU(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class PackedSwiGLU(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.gate_up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden // 2, dim, bias=False)

    def forward(self, x):
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down(F.silu(gate) * up)


def step_ms(layer, x, grad, calls=3):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(calls):
        layer.zero_grad(set_to_none=True)
        layer(x).backward(grad)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e3 / calls


def main(pairs=25):
    rng = np.random.default_rng(0)
    print("| tokens | dim | hidden | separate ms | packed ms | speed-up | 95% interval |")
    print("|---|---|---|---|---|---|---|")
    for tokens, dim, hidden in [(256, 128, 512), (256, 256, 1024), (512, 256, 512)]:
        layers = {"separate": SwiGLU(dim, hidden).to("npu"), "packed": PackedSwiGLU(dim, hidden).to("npu")}
        x = torch.randn(tokens, dim, device="npu", requires_grad=False)
        grad = torch.randn(tokens, dim, device="npu")
        for layer in list(layers.values()) * 3:
            assert layer(x).shape == x.shape
            step_ms(layer, x, grad)
        ms = {k: [] for k in layers}
        for _ in range(pairs):
            for k in random.sample(list(layers), 2):
                ms[k].append(step_ms(layers[k], x, grad))
        s, p = np.array(ms["separate"]), np.array(ms["packed"])
        idx = rng.integers(0, pairs, (2000, pairs))
        lo, hi = np.percentile(np.median(s[idx], 1) / np.median(p[idx], 1), [2.5, 97.5])
        print(f"| {tokens} | {dim} | {hidden} | {np.median(s):.3f} | {np.median(p):.3f} "
              f"| {np.median(s) / np.median(p):.2f}x | {lo:.2f} - {hi:.2f} |")
    print(f"Packing gate and up into one GEMM, training step of the layer, n={pairs} per cell, shapes as listed.")


if __name__ == "__main__":
    main()
