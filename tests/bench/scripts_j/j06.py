# 转置后求和的耗时。预热放在装饰器里，测量在另一个函数里：每个样本是一批调用，一批之后只同步一次，再除以次数。
import csv
import functools
import io
import statistics
import time

import torch
import torch_npu  # noqa: F401


def warmed(rounds):
    """测量之前先把被测函数跑 rounds 次，并等设备空闲。"""

    def wrap(measure):
        @functools.wraps(measure)
        def inner(target, *args, **kwargs):
            for _ in range(rounds):
                target()
            torch.npu.synchronize()
            return measure(target, *args, **kwargs)

        return inner

    return wrap


@warmed(rounds=30)
def batches(target, size=25, count=40):
    took = []
    for _ in range(count):
        t0 = time.monotonic_ns()
        for _ in range(size):
            target()
        torch.npu.synchronize()
        took.append((time.monotonic_ns() - t0) / size / 1e3)
    return took


def column_sum(m):
    return lambda: m.sum(dim=0)


sink = io.StringIO()
writer = csv.writer(sink)
writer.writerow("shape dtype cache batches calls p50_us p90_us stdev_us".split())
for h, w in [(64, 4096), (512, 2048), (2048, 1024), (1000, 777)]:
    us = batches(column_sum(torch.ones(h, w).npu()))
    cut = statistics.quantiles(us, n=10)
    numbers = [statistics.median(us), cut[-1], statistics.stdev(us)]
    writer.writerow([f"{h}x{w}", "float32", "hot", len(us), 25, *(f"{n:.2f}" for n in numbers)])
print(sink.getvalue(), end="")
