"""Depthwise block of the mobile backbone, eager against torch.compile, at the resolutions we serve."""
import json
import time

import torch
import torch.nn as nn
import torch_npu

CHANNELS = 16
BATCH = 2
RESOLUTIONS = [24, 20, 16]
ITERS = 20


class DepthwiseBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.dw = nn.Conv2d(ch, ch, 3, padding=1, groups=ch)
        self.act = nn.ReLU6()

    def forward(self, x):
        return self.act(self.dw(x)) + x


def clock(fn, x):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(ITERS):
        fn(x)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / ITERS * 1e3


@torch.no_grad()
def main():
    block = DepthwiseBlock(CHANNELS).eval().npu()
    fast = torch.compile(block, backend="aot_eager", dynamic=False)
    inputs = {r: torch.randn(BATCH, CHANNELS, r, r).npu() for r in RESOLUTIONS}

    for x in inputs.values():
        for _ in range(3):
            block(x)
    for _ in range(3):
        fast(inputs[RESOLUTIONS[0]])
    torch.npu.synchronize()

    rows = []
    for res, x in inputs.items():
        rows.append({
            "resolution": res,
            "eager_ms": round(clock(block, x), 4),
            "compiled_ms": round(clock(fast, x), 4),
        })

    total_eager = sum(r["eager_ms"] for r in rows)
    total_compiled = sum(r["compiled_ms"] for r in rows)
    print(json.dumps({
        "bench": "depthwise_block",
        "device": torch.npu.get_device_name(0),
        "batch": BATCH,
        "channels": CHANNELS,
        "dtype": "float32",
        "iters": ITERS,
        "note": "time of a call once compiled; compile time is not part of the figures",
        "results": rows,
        "compiled_over_eager": round(total_compiled / total_eager, 3),
    }, indent=2))


if __name__ == "__main__":
    main()
