# torch.utils.benchmark 会自己预热，并在每次读钟之前同步一次；一个样本包含很多次调用。
# 这里取很多样本，报告百分位数。
import itertools

import numpy as np
import torch
import torch_npu  # noqa: F401
from torch.utils.benchmark import Timer

SIZES = (96, 384, 768)
DTYPES = (torch.float32, torch.float16)


def measure(size, dtype):
    x = torch.full((size, 1024), 0.5, dtype=dtype).npu()
    timer = Timer(
        stmt="exp(x)", globals={"exp": torch.exp, "x": x}, label="exp", sub_label=f"{size}x1024", description=str(dtype)
    )
    timer.timeit(20)  # 再预热一遍
    return np.array([timer.timeit(15).times[0] for _ in range(60)]) * 1e6


print("exp：每个样本 15 次调用，60 个样本，输入在 L2 中是热的，单位 us")
print(f"{'shape':>10} {'dtype':>14} {'P5':>8} {'P50':>8} {'P90':>8} {'P95':>8}")
for size, dtype in itertools.product(SIZES, DTYPES):
    us = measure(size, dtype)
    row = np.percentile(us, (5, 50, 90, 95))
    print(f"{size:>5}x1024 {str(dtype):>14} " + " ".join(f"{v:8.2f}" for v in row))
