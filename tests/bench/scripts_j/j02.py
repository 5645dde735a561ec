# 比较两种 RMSNorm 写法：先升幂再均值，与 linalg 范数。形状 (1024, 2048)，float32，输入在 L2 中是热的。
from functools import partial

import numpy as np
import torch
import torch_npu  # noqa: F401

SHAPE = (1024, 2048)
SAMPLES = 150


def with_pow(x, w):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w


def with_mul(x, w):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * w


def sample(fn, n):
    marks = [torch.npu.Event(enable_timing=True) for _ in range(2 * n)]
    for i in range(n):
        marks[2 * i].record()
        fn()
        marks[2 * i + 1].record()
    torch.npu.synchronize()
    return np.array([marks[2 * i].elapsed_time(marks[2 * i + 1]) * 1000 for i in range(n)])


x = (torch.arange(SHAPE[0] * SHAPE[1]) % 17 / 8).reshape(SHAPE).npu()
w = torch.ones(SHAPE[1]).npu()
assert torch.allclose(with_pow(x, w).cpu(), with_mul(x, w).cpu(), atol=1e-4)

# 两种写法都预热
for fn in (with_pow, with_mul):
    sample(partial(fn, x, w), 20)

result = {}
for label, fn in (("pow", with_pow), ("mul", with_mul)):
    result[label] = sample(partial(fn, x, w), SAMPLES)

print(f"RMSNorm {SHAPE} float32, 热缓存, 每种 {SAMPLES} 个样本 (us)")
for label, us in result.items():
    p50, p90, p99 = np.percentile(us, (50, 90, 99))
    print(f"  {label}: P50={p50:.2f} P90={p90:.2f} P99={p99:.2f} std={us.std():.2f}")
gain = np.median(result["pow"]) / np.median(result["mul"])
print(f"在该形状上 mul 是 pow 的 {gain:.3f} 倍速")
