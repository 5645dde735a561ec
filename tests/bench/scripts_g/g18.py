"""小张量逐元素加法的 kernel 时间。"""

import time
from contextlib import contextmanager

import numpy as np
import torch
import torch_npu  # noqa: F401


@contextmanager
def region(samples):
    """记录一次调用：进入时读钟，离开时等设备完成后再读钟。"""
    begin = time.perf_counter_ns()
    yield
    torch.npu.synchronize()
    samples.append(time.perf_counter_ns() - begin)


def kernel_time(shape, count=300):
    a = torch.rand(*shape).npu()
    b = torch.rand(*shape).npu()
    c = torch.empty_like(a)
    for _ in range(30):  # 预热
        torch.add(a, b, out=c)
    torch.npu.synchronize()
    samples = []
    for _ in range(count):
        with region(samples):
            torch.add(a, b, out=c)
    return np.array(samples) / 1e3


print("torch.add float32，输入常驻 L2，kernel 执行时间（us）")
print(f"{'shape':>14} {'P50':>8} {'P90':>8} {'P99':>8} {'n':>5}")
for shape in ((64, 128), (256, 256), (512, 384)):
    us = kernel_time(shape)
    print(
        f"{str(shape):>14} {np.percentile(us, 50):8.2f} {np.percentile(us, 90):8.2f} {np.percentile(us, 99):8.2f} {len(us):5}"
    )
