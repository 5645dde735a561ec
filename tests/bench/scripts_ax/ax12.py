"""Depthwise 3x3 convolutions of a MobileNet-like network, layer by layer. Device time from events; JSON lines."""
import json

import torch
import torch_npu
from torch.nn import functional as F

torch.set_num_threads(1)

LAYERS = [
    # name, channels, height = width, stride
    ("block2", 48, 28, 1),
    ("block3", 96, 28, 2),
    ("block5", 128, 14, 1),
    ("block7", 192, 14, 2),
]
BATCH, CALLS, ROUNDS = 4, 10, 5


def layer(channels, size):
    x = torch.randn(BATCH, channels, size, size, device="npu")
    w = torch.randn(channels, 1, 3, 3, device="npu") / 3
    b = torch.zeros(channels, device="npu")
    return x, w, b


def timed(x, w, b, stride, healthy):
    t0 = torch.npu.Event(enable_timing=True)
    t1 = torch.npu.Event(enable_timing=True)
    t0.record()
    for _ in range(CALLS):
        y = F.conv2d(x, w, b, stride=stride, padding=1, groups=x.shape[1])
        healthy &= torch.isfinite(y).all()
    t1.record()
    torch.npu.synchronize()
    return t0.elapsed_time(t1) / CALLS, y.shape


def main():
    for name, channels, size, stride in LAYERS:
        x, w, b = layer(channels, size)
        healthy = torch.ones((), dtype=torch.bool, device="npu")
        timed(x, w, b, stride, healthy)

        rounds = []
        for _ in range(ROUNDS):
            ms, shape = timed(x, w, b, stride, healthy)
            rounds.append(ms)
        assert healthy.item(), name

        rounds.sort()
        ms = rounds[len(rounds) // 2]
        flop = 2 * 9 * shape.numel()
        print(json.dumps({
            "layer": name,
            "input": list(x.shape),
            "stride": stride,
            "dtype": "float32",
            "depthwise_conv_us": round(ms * 1e3, 2),
            "min_max_us": [round(rounds[0] * 1e3, 2), round(rounds[-1] * 1e3, 2)],
            "depthwise_conv_gflops": round(flop / ms / 1e6, 2),
            "samples": f"{ROUNDS} rounds of {CALLS}",
        }))


main()
