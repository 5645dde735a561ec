"""Can a depthwise-separable block stand in for a dense 3x3 convolution, and what does it save?"""
import statistics
import time

import torch
from torch import nn
import torch_npu

B, C, S = 1, 32, 28
CALLS, ROUNDS = 10, 15


class Separable(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.depth = nn.Conv2d(c, c, 3, padding=1, groups=c, bias=False)
        self.point = nn.Conv2d(c, c, 1, bias=False)

    def forward(self, x):
        return self.point(self.depth(x))


def macs(module):
    """Multiply-adds for one image of S x S (stride 1, same size out)."""
    return sum(m.weight.numel() * S * S for m in module.modules() if isinstance(m, nn.Conv2d))


def us_per_call(net, x):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(CALLS):
        net(x)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / CALLS * 1e6


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    torch.manual_seed(6)
    x = torch.randn(B, C, S, S).npu()
    dense = nn.Conv2d(C, C, 3, padding=1, bias=False).npu()
    sep = Separable(C).npu()
    assert dense(x).shape == sep(x).shape
    for _ in range(10):
        dense(x), sep(x)

    td, ts = [], []
    for r in range(ROUNDS):
        if r % 2:
            ts.append(us_per_call(sep, x))
            td.append(us_per_call(dense, x))
        else:
            td.append(us_per_call(dense, x))
            ts.append(us_per_call(sep, x))
    d, s = statistics.median(td), statistics.median(ts)
    dq, sq = statistics.quantiles(td, n=4), statistics.quantiles(ts, n=4)

    print(f"Input {B}x{C}x{S}x{S}, float32; both blocks give the same output shape, not the same function.")
    print(f"The dense 3x3 layer does {macs(dense) / 1e6:.2f} M multiply-adds in one launch and takes "
          f"{d:.0f} us (quartiles {dq[0]:.0f} and {dq[2]:.0f}).")
    print(f"Depthwise plus pointwise does {macs(sep) / 1e6:.2f} M in two launches and takes "
          f"{s:.0f} us (quartiles {sq[0]:.0f} and {sq[2]:.0f}).")
    share = macs(sep) / macs(dense)
    if sq[2] < dq[0] or sq[0] > dq[2]:
        print(f"So it has {share:.0%} of the arithmetic and, at this shape, {s / d:.0%} of the time.")
    else:
        print(f"It has {share:.0%} of the arithmetic, yet these rounds do not tell the two times apart.")
    print(f"Host clock, {ROUNDS} rounds of {CALLS} calls with one wait behind them, order swapped each round.")


if __name__ == "__main__":
    main()
