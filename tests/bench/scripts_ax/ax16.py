"""GELU, exact and with tanh: what is the usual price of a call in a small model?"""
import time

import torch
import torch_npu
from torch.nn import functional as F

torch.set_num_threads(1)

ROWS, HIDDEN = 32, 512
CALLS = 20


def usual_us(activation, x):
    torch.npu.synchronize()
    tic = time.perf_counter()
    for _ in range(CALLS):
        activation(x)
    torch.npu.synchronize()
    return (time.perf_counter() - tic) * 1e6 / CALLS


def exact(x):
    return F.gelu(x)


def tanh(x):
    return F.gelu(x, approximate="tanh")


def main():
    torch.manual_seed(2)
    x = torch.randn(ROWS, HIDDEN, device="npu")
    print(f"Activations of {ROWS} x {HIDDEN} in float32 on {torch.npu.get_device_name(0)}.")
    for title, activation in (("exact", exact), ("tanh", tanh)):
        us = usual_us(activation, x)
        rate = x.numel() / us
        print(f"In steady operation a call of the {title} GELU usually takes {us:.0f} us, "
              f"which is {rate:,.0f} million elements per second.")
    gap = (exact(x) - tanh(x)).abs().max().item()
    print(f"Their results differ by {gap:.1e} at most.")
    print(f"Each figure is the mean of {CALLS} calls with one wait behind them.")


if __name__ == "__main__":
    main()
