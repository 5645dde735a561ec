"""Cold start of torch.compile: how long does the first call of a fresh graph take, compilation included?

Deployment wants to know what a restarted worker pays before its first answer. So the first call is what is
measured here, on purpose; the steady time of the compiled block is not of interest and not reported.
"""
import statistics
import time

import torch
import torch_npu
from torch import nn

ROUNDS = 5
SHAPE = (64, 256)

torch._inductor.config.force_disable_caches = True


class Gated(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(width, width)

    def forward(self, x):
        a, b = self.up(x).chunk(2, dim=-1)
        return self.down(torch.nn.functional.silu(a) * b) + x


def first_call_s(model, x):
    torch._dynamo.reset()
    fresh = torch.compile(model, dynamic=False)
    torch.npu.synchronize()
    begin = time.perf_counter()
    out = fresh(x)
    torch.npu.synchronize()
    end = time.perf_counter()
    assert out.shape == x.shape
    return end - begin


def main():
    torch.manual_seed(0)
    model = Gated(SHAPE[1]).npu().eval()
    x = torch.randn(*SHAPE, device="npu")
    with torch.no_grad():
        for _ in range(3):
            model(x)                      # operators are loaded; eager
        first_call_s(model, x)            # Python modules of the compiler are imported in this one; not counted
        samples = [first_call_s(model, x) for _ in range(ROUNDS)]
    print(f"first call of a freshly compiled Gated({SHAPE[1]}), input {SHAPE}, compilation INCLUDED, no disk cache")
    print(f"  median {statistics.median(samples) * 1e3:.0f} ms, min {min(samples) * 1e3:.0f}, "
          f"max {max(samples) * 1e3:.0f}, n = {len(samples)}")


if __name__ == "__main__":
    main()
