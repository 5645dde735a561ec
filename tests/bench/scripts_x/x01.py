import torch
import torch_npu
import statistics
import time

import torch.nn.functional as F

LAUNCHES = 30
ROUNDS = 7
WIDTHS = (256, 512, 1024)


def block(x, weight, bias):
    return F.layer_norm(x, (x.shape[-1],), weight, bias)


def one_round(call):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(LAUNCHES):
        call()
    issued = time.perf_counter()
    torch.npu.synchronize()
    return (issued - begin) / LAUNCHES * 1e6


def check(x, weight, bias):
    expected = F.layer_norm(x.cpu(), (x.shape[-1],), weight.cpu(), bias.cpu())
    torch.testing.assert_close(block(x, weight, bias).cpu(), expected, rtol=1e-4, atol=1e-4)


def main():
    torch.manual_seed(7)
    print("What does Python plus the dispatcher cost for one layer_norm launch?")
    print("Host time until the launch call returns; the device may still be at work, its time is not in the figure.")
    for width in WIDTHS:
        x = torch.randn(64, width).npu()
        weight, bias = torch.ones(width).npu(), torch.zeros(width).npu()
        check(x, weight, bias)
        for _ in range(20):
            block(x, weight, bias)
        rounds = [one_round(lambda: block(x, weight, bias)) for _ in range(ROUNDS)]
        print(f"  float32 64 x {width}: host issue time, median {statistics.median(rounds):.1f} us a launch, "
              f"{min(rounds):.1f} to {max(rounds):.1f} over {ROUNDS} rounds of {LAUNCHES} launches")


if __name__ == "__main__":
    main()
