import csv
import sys

import torch
import torch_npu  # noqa: F401

# 用设备事件计时；多份输入轮换，总量大于 L2，避免缓存命中
COPIES = 64
SHAPE = (1024, 1024)


def timed_pass(bufs):
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    begin.record()
    for b in bufs:
        torch.abs(b)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1000 / len(bufs)


def main():
    bufs = [torch.full(SHAPE, -float(i), device="npu") for i in range(COPIES)]
    for _ in range(2):  # 预热
        timed_pass(bufs)
    us = torch.tensor([timed_pass(bufs) for _ in range(15)])
    out = csv.writer(sys.stdout)
    out.writerow(["op", "shape", "dtype", "cache", "n", "p25_us", "p50_us", "p75_us", "max_us"])
    q = [f"{torch.quantile(us, p).item():.2f}" for p in (0.25, 0.5, 0.75, 1.0)]
    out.writerow(["abs", "x".join(map(str, SHAPE)), "float32", "cold", len(us), *q])


main()
