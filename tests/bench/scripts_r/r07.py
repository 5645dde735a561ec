"""Batch norm in inference: nn.BatchNorm2d, or its scale and shift folded into one multiply and one add?"""
import torch
import torch.utils.benchmark as tub
import torch_npu  # noqa: F401

import labkit

SHAPES = [(4, 32, 56, 56), (8, 64, 56, 56)]
BLOCKS, CALLS = 16, 25


def npu_clock():
    torch.npu.synchronize()
    return labkit.device.clock().host_us * 1e-6


def make(channels):
    bn = torch.nn.BatchNorm2d(channels)
    with torch.no_grad():
        bn.weight.uniform_(0.5, 2)
        bn.bias.normal_()
        bn.running_mean.normal_()
        bn.running_var.uniform_(0.5, 2)
    bn = bn.eval().npu().requires_grad_(False)
    scale = bn.weight * torch.rsqrt(bn.running_var + bn.eps)
    shift = bn.bias - bn.running_mean * scale
    scale, shift = scale.view(1, -1, 1, 1), shift.view(1, -1, 1, 1)
    return {"module": bn, "folded": lambda x: x * scale + shift}


def timer(name, fn, x):
    return tub.Timer("fn(x)", globals={"fn": fn, "x": x}, timer=npu_clock, label="batch norm, eval, float32",
                     sub_label="x".join(map(str, x.shape)), description=name)


def main():
    labkit.device.noise(6, hot_ms=12.0)  # behaves as our node does, which is a small case with little air
    torch.manual_seed(6)
    timers = {}
    for shape in SHAPES:
        x = torch.randn(shape).npu()
        ways = make(shape[1])
        torch.testing.assert_close(ways["module"](x).cpu(), ways["folded"](x).cpu(), rtol=1e-4, atol=1e-4)
        for name, fn in ways.items():
            timers[name, shape] = timer(name, fn, x)
            timers[name, shape].timeit(20)

    found = {}
    for name in ("module", "folded"):
        for shape in SHAPES:
            blocks = [timers[name, shape].timeit(CALLS) for _ in range(BLOCKS)]
            found[name, shape] = tub.Measurement.merge(blocks)[0]

    tub.Compare(list(found.values())).print()
    for m in found.values():
        us = sorted(1e6 * t for t in m.times)
        print(f"{m.sub_label:12} {m.description:8} median {1e6 * m.median:6.2f} us, least {us[0]:.2f}, most {us[-1]:.2f}"
              f" of {len(us)} blocks of {CALLS} calls")
    for shape in SHAPES:
        ratio = found["folded", shape].median / found["module", shape].median
        print(f"{'x'.join(map(str, shape))}: folded takes {ratio:.2f} times as long as the module (input in the L2)")


if __name__ == "__main__":
    main()
