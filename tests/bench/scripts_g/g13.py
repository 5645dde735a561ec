# 统计 GELU 的延迟分布，给 SLA 文档用
import functools

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401


def clean(us):
    """连续两次 2-sigma 截断，去掉毛刺。"""
    for _ in range(2):
        us = us[np.abs(us - us.mean()) <= 2 * us.std()]
    return us


def timed(samples, warm=20):
    def wrap(function):
        @functools.wraps(function)
        def run(*arguments):
            for _ in range(warm):
                function(*arguments)
            torch.npu.synchronize()
            marks = [[torch.npu.Event(enable_timing=True) for _ in range(2)] for _ in range(samples)]
            for begin, end in marks:
                begin.record()
                function(*arguments)
                end.record()
            torch.npu.synchronize()
            return clean(np.array([begin.elapsed_time(end) for begin, end in marks]) * 1e3)

        return run

    return wrap


@timed(samples=300)
def gelu(x):
    return F.gelu(x)


for rows, cols in ((512, 2048), (1024, 1024), (2048, 768)):
    us = gelu(torch.rand(rows, cols).npu())
    p50, p95, p99 = np.percentile(us, [50, 95, 99])
    print(
        f"GELU float32 ({rows}, {cols}) 热 L2: P50 {p50:.2f}  P95 {p95:.2f}  P99 {p99:.2f}  最慢 {us.max():.2f}  标准差 {us.std():.2f} us"
    )
