# -*- coding: utf-8 -*-
"""转置加 contiguous 的耗时测试（NHWC <-> NCHW 以及二维转置）。"""
import time

import torch
import torch_npu

组数 = 12
每组次数 = 10

用例 = {
    "二维转置 512x512": ((512, 512), (1, 0)),
    "NCHW 转 NHWC": ((2, 64, 28, 28), (0, 2, 3, 1)),
    "多头转置 B S H D": ((2, 128, 8, 64), (0, 2, 1, 3)),
}


def 转置(x, 维序):
    return x.permute(*维序).contiguous()


def 测一组(x, 维序):
    开始 = time.perf_counter()
    for _ in range(每组次数):
        转置(x, 维序)
    torch.npu.synchronize()
    return (time.perf_counter() - 开始) / 每组次数 * 1e6


def 测试(形状, 维序):
    x = torch.randn(*形状).npu()
    torch.npu.synchronize()
    return [测一组(x, 维序) for _ in range(组数)]


def 主程序():
    torch.manual_seed(0)
    print("设备：npu，数据类型：float32，每组只在末尾同步一次，数据可留在 L2")
    print(f"每个用例 {组数} 组，每组 {每组次数} 次")
    print()
    for 名称, (形状, 维序) in 用例.items():
        样本 = 测试(形状, 维序)
        平均 = sum(样本) / len(样本)
        字节 = 2 * 4 * torch.Size(形状).numel()
        print(f"{名称}：稳态下平均每次 {平均:.2f} us，折合读写 {字节 / 平均 / 1e3:.1f} GB/s")
    print()
    print("以上均为稳定运行时的耗时，可直接用于估算推理流水线。")


if __name__ == "__main__":
    主程序()
