# 用 timeit.repeat 测 where（掩码填充）。每个样本 20 次调用，末尾同步一次；timeit 自己会关闭垃圾回收。
import statistics
import time
import timeit

import torch
import torch_npu  # noqa: F401

CALLS = 20


def make(rows, cols):
    scores = torch.ones(rows, cols).npu()
    mask = (torch.arange(rows * cols) % 2 == 0).reshape(rows, cols).npu()
    fill = torch.full((), -1e4).npu()

    def batch():
        for _ in range(CALLS):
            torch.where(mask, scores, fill)
        torch.npu.synchronize()

    return batch


for rows, cols in ((256, 512), (512, 1024), (777, 1333)):
    batch = make(rows, cols)
    batch()
    batch()
    took = timeit.repeat(batch, number=1, repeat=50, timer=time.process_time)
    us = sorted(t / CALLS * 1e6 for t in took)
    q = statistics.quantiles(us, n=10)
    print(
        f"where ({rows}, {cols}) float32，热缓存，50 个样本：每次调用 P10 {q[0]:.2f}  P50 {statistics.median(us):.2f}  P90 {q[8]:.2f} us"
    )
