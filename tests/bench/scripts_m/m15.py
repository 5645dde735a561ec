import statistics

import torch
import torch_npu  # noqa: F401


def marks(fn, count):
    """Device time of each call: all is issued first, then one wait, then we read the events."""
    pairs = []
    for _ in range(count):
        pair = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        pair[0].record()
        fn()
        pair[1].record()
        pairs.append(pair)
    torch.npu.synchronize()
    yield from (start.elapsed_time(end) * 1e3 for start, end in pairs)


# 三种形状，各 100 个样本，全部保留
for m, k, n in ((64, 128, 64), (256, 256, 128), (100, 1000, 300)):
    a = torch.ones(m, k, dtype=torch.bfloat16, device="npu")
    b = torch.ones(k, n, dtype=torch.bfloat16, device="npu")
    list(marks(lambda a=a, b=b: a @ b, 20))  # 预热，不计入
    us = list(marks(lambda a=a, b=b: a @ b, 100))
    cut = statistics.quantiles(us, n=100)
    print(f"bf16 matmul m={m} k={k} n={n} (a, b hot in L2): p50={cut[49]:.2f} p90={cut[89]:.2f} p99={cut[98]:.2f} us")
