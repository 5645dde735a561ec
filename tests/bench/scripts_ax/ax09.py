"""小算子下发开销：host 下发一次 add 要多久，device 执行一次又要多久？"""
import statistics
import time

import torch
import torch_npu

torch.set_num_threads(1)

次数 = 50
轮数 = 7
规模 = [16 * 1024, 1024 * 1024, 2 * 1024 * 1024]

工作流 = torch.npu.Stream()


def 下发(x, y, out):
    for _ in range(次数):
        torch.add(x, y, out=out)


def 主机时间(x, y, out):
    """只计下发：循环结束即停表，之后再等待。"""
    torch.npu.synchronize()
    with torch.npu.stream(工作流):
        起 = time.perf_counter()
        下发(x, y, out)
        止 = time.perf_counter()
    torch.npu.synchronize()
    return (止 - 起) / 次数 * 1e6


def 设备时间(x, y, out):
    起 = torch.npu.Event(enable_timing=True)
    止 = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    起.record()
    with torch.npu.stream(工作流):
        下发(x, y, out)
    止.record()
    torch.npu.synchronize()
    return 起.elapsed_time(止) / 次数 * 1e3


def 概括(样本):
    return f"{statistics.median(样本):8.2f}（{min(样本):.2f} ~ {max(样本):.2f}）"


def main():
    print(f"设备：{torch.npu.get_device_name(0)}；float32 加法，输出缓冲区预先分配")
    print(f"每个样本 {次数} 次调用，共 {轮数} 个样本；给出中位数与范围，单位 us/次")
    for n in 规模:
        x, y = torch.randn(n, device="npu"), torch.randn(n, device="npu")
        out = torch.empty(n, device="npu")
        torch.npu.synchronize()
        for _ in range(2):
            主机时间(x, y, out)
            设备时间(x, y, out)
        主机 = [主机时间(x, y, out) for _ in range(轮数)]
        设备 = [设备时间(x, y, out) for _ in range(轮数)]
        print(f"元素数 {n:>8}：")
        print(f"    host 下发    {概括(主机)}")
        print(f"    device 执行  {概括(设备)}")
    print("device 执行时间由 event 测得：从第一个 add 开始到最后一个 add 完成。")


if __name__ == "__main__":
    main()
