# 卷积前向：实测算力与理论峰值对照
import time
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

频率_HZ = 1.85e9  # 910B1 的 cube 频率
每周期_FLOP = 16 * 16 * 16 * 2  # 每个 cube core，半精度
组内次数, 组数 = 6, 12


def 分组计时(运算):
    运算()
    运算()
    torch.npu.synchronize()
    结果 = []
    for _ in range(组数):
        起 = time.perf_counter()
        for _ in range(组内次数):
            运算()
        torch.npu.synchronize()
        结果.append((time.perf_counter() - 起) / 组内次数)
    return np.array(结果)


def 浮点数(n, cin, cout, 边, k):
    return 2 * n * cout * 边 * 边 * cin * k * k


设备 = torch.npu.get_device_properties(0)
峰值 = 设备.cube_core_num * 每周期_FLOP * 频率_HZ
print(f"设备：{设备.name}；半精度理论峰值 {峰值 / 1e12:.1f} TFLOP/s（按 {设备.cube_core_num} 个 cube core 与 1.85 GHz 推算，不是实测）")
print(f"方法：每组连续下发 {组内次数} 次，组末同步一次，host 时钟；每种形状先热身，再取 {组数} 组")

for n, cin, cout, 边, k in ((2, 32, 32, 28, 1), (2, 32, 32, 28, 3), (2, 32, 64, 14, 3)):
    x = torch.randn(n, cin, 边, 边, device="npu", dtype=torch.float16)
    w = torch.randn(cout, cin, k, k, device="npu", dtype=torch.float16)
    卷积 = partial(F.conv2d, x, w, padding=k // 2)
    秒 = 分组计时(卷积)
    中位, 九十 = np.percentile(秒, [50, 90])
    实测 = 浮点数(n, cin, cout, 边, k) / 中位
    print(
        f"输入 {n}x{cin}x{边}x{边}，卷积核 {cout}x{cin}x{k}x{k}：每次 {中位 * 1e6:.1f} us（中位数），{九十 * 1e6:.1f} us（P90）；"
        f"实测 {实测 / 1e12:.4f} TFLOP/s，为峰值的 {实测 / 峰值:.3%}"
    )
print("说明：每次耗时含下发间隔；形状很小，输入反复使用，留在 L2 中，所以远低于峰值并不奇怪。百分位数取自各组的平均值。")
