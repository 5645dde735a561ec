# -*- coding: utf-8 -*-
"""逐元素加法在各数据类型下的设备耗时。"""
import torch
import torch_npu

形状 = (1024, 2048)
类型 = [torch.float32, torch.float16, torch.bfloat16]
预热 = 10
次数 = 50


def 输入(dtype):
    torch.manual_seed(0)
    return torch.randn(形状, device="npu").to(dtype)


def 计时(函数, x, y):
    """返回 kernel 在设备上每次的耗时（微秒）。"""
    for _ in range(预热):
        函数(x, y)
    torch.npu.synchronize()

    开始 = torch.npu.Event(enable_timing=True)
    结束 = torch.npu.Event(enable_timing=True)
    开始.record()
    for _ in range(次数):
        函数(x, y)
        torch.npu.synchronize()
    结束.record()
    torch.npu.synchronize()
    return 开始.elapsed_time(结束) * 1000 / 次数


def main():
    print(f"设备：{torch.npu.get_device_name(0)}")
    print(f"算子：torch.add，形状 {形状[0]}×{形状[1]}，预热 {预热} 次，取 {次数} 次的平均，输入常驻 L2")
    print()
    结果 = {}
    for dtype in 类型:
        结果[dtype] = 计时(torch.add, 输入(dtype), 输入(dtype))

    基准 = 结果[torch.float32]
    for dtype, 微秒 in 结果.items():
        名称 = str(dtype).split(".")[-1]
        print(f"  {名称:<9} kernel 耗时 {微秒:8.2f} us   相对 float32：{基准 / 微秒:.2f} 倍速")


if __name__ == "__main__":
    main()
