"""转置后再 contiguous()：输入在 L2 中与不在 L2 中两种情况分别测量。"""
import statistics

import torch
import torch_npu

torch.set_num_threads(1)

N = 2048
份数 = 16          # 16 份输入共 256 MiB，大于 192 MiB 的 L2
每轮次数 = 32
轮数 = 4


def 转置(x):
    return x.t().contiguous()


def 一轮(输入):
    """依次处理，多于份数时从头再来；整轮只在最后等待一次。"""
    起 = torch.npu.Event(enable_timing=True)
    止 = torch.npu.Event(enable_timing=True)
    起.record()
    for i in range(每轮次数):
        转置(输入[i % len(输入)])
    止.record()
    止.synchronize()
    return 起.elapsed_time(止) * 1e3 / 每轮次数


def 测量(输入):
    一轮(输入)  # 预热
    return [一轮(输入) for _ in range(轮数)]


def 报告(标题, 样本, 字节):
    中位 = statistics.median(样本)
    print(f"{标题}：每次 {中位:.2f} us（{min(样本):.2f} ~ {max(样本):.2f}，{轮数} 轮 × {每轮次数} 次），"
          f"读写合计 {字节 / 中位 / 1e3:,.0f} GB/s")
    return 中位


def main():
    所有输入 = [torch.randn(N, N, device="npu") for _ in range(份数)]
    assert torch.equal(转置(所有输入[0]).t(), 所有输入[0])

    字节 = 2 * N * N * 所有输入[0].element_size()
    print(f"{N} × {N}，float32；每次读 {字节 // 2 / 2**20:.0f} MiB、写 {字节 // 2 / 2**20:.0f} MiB")

    热 = 报告("同一份输入反复使用（留在 L2 中）", 测量(所有输入[:1]), 字节)
    冷 = 报告(f"{份数} 份输入轮流使用（再次用到时已不在 L2 中）", 测量(所有输入), 字节)

    print(f"后者是前者的 {冷 / 热:.2f} 倍。")
    print("说明：输出在两种情况下都可能仍留在 L2 中，因此以上 GB/s 是有效速率，不是主存带宽。")


if __name__ == "__main__":
    main()
