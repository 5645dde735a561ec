# -*- coding: utf-8 -*-
"""index_select 按行取数：设备耗时与行数的关系"""
import time

import numpy as np
import torch
import torch_npu

表行数 = 4096
列数 = 64
次数 = 200


def 取数(表, 下标):
    return torch.index_select(表, 0, 下标)


def 计时(表, 下标):
    # 预热
    for _ in range(20):
        取数(表, 下标)
    torch.npu.synchronize()

    样本 = []
    for _ in range(次数):
        开始 = time.perf_counter()
        结果 = 取数(表, 下标)
        结束 = time.perf_counter()
        torch.npu.synchronize()
        样本.append((结束 - 开始) * 1e6)
    return np.array(样本), 结果


def main():
    torch.manual_seed(7)
    表 = torch.randn(表行数, 列数).npu()
    print(f"表: {表行数} x {列数} float32；预热后逐次计时 {次数} 次")
    print("-" * 58)
    print(f"{'行数':>6}{'设备耗时 中位 (us/次)':>18}{'P25':>8}{'P75':>8}{'百万行/秒':>10}")
    for 行数 in (128, 256, 512, 2048):
        下标 = torch.randint(0, 表行数, (行数,)).npu()
        样本, 结果 = 计时(表, 下标)
        低, 中, 高 = np.percentile(样本, [25, 50, 75])
        assert 结果.shape == (行数, 列数)
        print(f"{行数:>8}{中:>20.2f}{低:>12.2f}{高:>8.2f}{行数 / 中:>12.1f}")
    print("-" * 58)
    print("说明：以上为设备完成一次 index_select 所需的时间。")


if __name__ == "__main__":
    main()
