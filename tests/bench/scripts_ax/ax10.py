"""Packing variable-length sequences: index_select + scale + bias, compiled, over a day's mix of lengths."""
import json
import time

import torch
import torch_npu

torch.set_num_threads(1)

POOL, WIDTH = 2048, 64
LENGTHS = [512, 640, 512, 768]
PASSES = 8


@torch.compile(dynamic=False)
def pack(pool, index, scale, bias):
    return torch.relu(pool.index_select(0, index) * scale + bias)


def now():
    torch.npu.synchronize()
    return time.perf_counter()


def serve(pool, scale, bias, requests):
    rows = 0
    begin = now()
    for index in requests:
        rows += pack(pool, index, scale, bias).shape[0]
    return now() - begin, rows


def main():
    torch.manual_seed(7)
    pool = torch.randn(POOL, WIDTH, device="npu")
    scale = torch.rand(WIDTH, device="npu")
    bias = torch.rand(WIDTH, device="npu")
    requests = [torch.randperm(POOL)[:n].to("npu") for n in LENGTHS] * PASSES

    begin = now()
    for _ in range(3):
        pack(pool, requests[0], scale, bias)
    warm = now() - begin

    seconds, rows = serve(pool, scale, bias, requests)
    report = {
        "what": "pack(): index_select, mul, add, relu as one compiled function",
        "pool": [POOL, WIDTH],
        "dtype": "float32",
        "lengths": sorted(set(LENGTHS)),
        "warm_up": {"calls": 3, "seconds": round(warm, 3)},
        "requests": len(requests),
        "per_request_us": round(seconds / len(requests) * 1e6, 1),
        "rows_per_second": round(rows / seconds),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
