# -*- coding: utf-8 -*-
"""手写 RMSNorm 与 torch_npu.npu_rms_norm 的单次调用时间（只针对下面这一个形状）。"""
import statistics
import time

import torch
import torch_npu

行, 列 = 2048, 1024
EPS = 1e-6
每轮次数 = 20
轮数 = 8


def 手写(x, g):
    # 与融合算子一样在 float32 中累加，所以类型转换也是它的工作
    y = x.float()
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + EPS)
    return y.to(x.dtype) * g


def 融合(x, g):
    return torch_npu.npu_rms_norm(x, g, EPS)[0]


def 一轮(函数, x, g):
    torch.npu.synchronize()
    开始 = time.perf_counter()
    for _ in range(每轮次数):
        函数(x, g)
    下发 = time.perf_counter()
    torch.npu.synchronize()
    结束 = time.perf_counter()
    return (下发 - 开始) * 1e6 / 每轮次数, (结束 - 开始) * 1e6 / 每轮次数


def main():
    torch.manual_seed(0)
    x = torch.randn(行, 列, device="npu", dtype=torch.float16)
    g = torch.rand(列, device="npu", dtype=torch.float16) + 0.5
    误差 = (手写(x, g).float() - 融合(x, g).float()).abs().max().item()
    assert 误差 < 2e-2, 误差

    方法 = [("手写", 手写), ("融合", 融合)]
    for _, 函数 in 方法:
        for _ in range(10):
            函数(x, g)

    记录 = {名: [] for 名, _ in 方法}
    for i in range(轮数):
        for 名, 函数 in 方法 if i % 2 == 0 else 方法[::-1]:
            记录[名].append(一轮(函数, x, g))

    print(f"{torch.npu.get_device_name(0)}，{行}×{列} float16，输入一直在 L2 中，两种写法的最大误差 {误差:.1e}")
    print(f"{轮数} 轮，每轮 {每轮次数} 次调用、末尾只等待一次；先后次序逐轮交替")
    中位 = {}
    for 名, 值 in 记录.items():
        下发 = statistics.median(a for a, _ in 值)
        每次 = [b for _, b in 值]
        中位[名] = statistics.median(每次)
        瓶颈 = "受主机下发限制" if 下发 > 0.9 * 中位[名] else "受设备限制"
        print(f"  {名}：每次调用 {中位[名]:.1f} us（{min(每次):.1f}～{max(每次):.1f}），其中主机下发 {下发:.1f} us，{瓶颈}")
    比 = 中位["手写"] / 中位["融合"]
    print(f"在这个形状上，手写版每次调用的时间是融合算子的 {比:.2f} 倍；其他形状没有测。")


if __name__ == "__main__":
    main()
