"""Eager against torch.compile for a gated MLP, torch.utils.benchmark, interleaved blocks."""
import random

import labkit  # noqa: F401
import numpy as np
import torch
import torch.utils.benchmark as benchmark
from torch import nn
import torch.nn.functional as F


class GatedMLP(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.up = nn.Linear(dim, hidden, bias=False)
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


def timer(module, x, label):
    return benchmark.Timer(stmt="module(x)", globals={"module": module, "x": x},
                           label="gated MLP 128-256-128 fp32", description=label)


@torch.inference_mode()
def main(rounds=20, number=10):
    torch.manual_seed(0)
    random.seed(0)
    eager = GatedMLP(128, 256).npu().eval()
    compiled = torch.compile(eager, dynamic=False)
    print("time per forward in a back-to-back stream, same input, L2 warm, "
          f"{rounds} blocks of {number} per variant, order drawn anew each round")
    for tokens in (32, 128, 256):
        x = torch.randn(tokens, 128, device="npu")
        torch.testing.assert_close(compiled(x), eager(x), rtol=1e-3, atol=1e-4)
        for _ in range(20):
            eager(x), compiled(x)
        torch.npu.synchronize()

        timers = {"eager": timer(eager, x, "eager"), "compiled": timer(compiled, x, "compiled")}
        times = {name: [] for name in timers}
        for _ in range(rounds):
            order = list(timers)
            random.shuffle(order)
            for name in order:
                times[name].append(timers[name].timeit(number).mean * 1e6)
        for name, t in times.items():
            lo, mid, hi = np.percentile(t, [10, 50, 90])
            print(f"tokens={tokens:4d} {name:9s} p50 {mid:8.1f} us  p10 {lo:8.1f}  p90 {hi:8.1f}")
        ratio = np.array(times["eager"]) / np.array(times["compiled"])
        lo, mid, hi = np.percentile(ratio, [10, 50, 90])
        print(f"tokens={tokens:4d} eager/compiled per round: median {mid:.2f} [{lo:.2f}, {hi:.2f}]")


main()
