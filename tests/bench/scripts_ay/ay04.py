#!/usr/bin/env python3
"""dtype sweep of a compiled bias + gelu + residual block; prints one JSON document."""
import json
import time

import torch
import torch.nn.functional as F
import torch_npu

SHAPE = (256, 1024)
CALLS = 50
ROUNDS = 5


def block(x, bias, res):
    return F.gelu(x + bias, approximate="tanh") + res


def inputs(dtype):
    torch.manual_seed(3)
    x = torch.randn(*SHAPE).to(dtype).npu()
    bias = torch.randn(SHAPE[1]).to(dtype).npu()
    res = torch.randn(*SHAPE).to(dtype).npu()
    return x, bias, res


def measure(fn, args):
    rounds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(CALLS // ROUNDS):
            fn(*args)
        torch.npu.synchronize()
        rounds.append(time.perf_counter() - begin)
    return sum(rounds) / CALLS * 1e6


def main():
    rows = []
    for dtype in (torch.float32, torch.bfloat16):
        args = inputs(dtype)
        for _ in range(10):
            block(*args)
        torch.npu.synchronize()
        eager_us = measure(block, args)

        torch._dynamo.reset()
        fast = torch.compile(block, dynamic=False, backend="npugraphs")
        compiled_us = measure(fast, args)
        rows.append({
            "dtype": str(dtype).removeprefix("torch."),
            "eager_us_per_call": round(eager_us, 1),
            "compiled_us_per_call": round(compiled_us, 1),
            "speedup": round(eager_us / compiled_us, 2),
        })
    print(json.dumps({
        "device": torch.npu.get_device_name(0),
        "shape": SHAPE,
        "calls": CALLS,
        "metric": "running time of the block, mean over all calls",
        "results": rows,
    }, indent=1))


if __name__ == "__main__":
    main()
