# 把 16 段拼成一段：一次 torch.cat，与递归地两两拼接
import time

import torch
import torch_npu

torch.set_num_threads(1)
段数, 行, 列 = 16, 64, 256
每窗, 窗数 = 4, 30


def 递归拼接(parts):
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return torch.cat((递归拼接(parts[:half]), 递归拼接(parts[half:])))


def 一次拼接(parts):
    return torch.cat(parts)


def 搬运字节(n, size):
    """两两拼接读写的总字节数"""
    if n == 1:
        return 0
    return 2 * n * size + 搬运字节(n // 2, size) + 搬运字节(n - n // 2, size)


def 分位(samples, q):
    s = sorted(samples)
    pos = q * (len(s) - 1)
    lo = int(pos)
    return s[lo] + (pos - lo) * (s[min(lo + 1, len(s) - 1)] - s[lo])


pieces = [torch.randn(行, 列).half().to("npu") for _ in range(段数)]
assert torch.equal(递归拼接(pieces), 一次拼接(pieces))
耗时 = {一次拼接: [], 递归拼接: []}
for f in 耗时:
    for _ in range(5):
        f(pieces)
torch.npu.synchronize()

for _ in range(窗数):
    for f, bag in 耗时.items():
        t = time.perf_counter()
        for _ in range(每窗):
            f(pieces)
        torch.npu.synchronize()
        bag.append((time.perf_counter() - t) / 每窗 * 1e6)

size = 行 * 列 * 2
量 = {一次拼接: 2 * 段数 * size, 递归拼接: 搬运字节(段数, size)}
print(f"输入 {段数} 段 {行}x{列} float16，输出逐位相同；数据一直在 L2 里")
for f, bag in 耗时.items():
    print(f"  {f.__name__}：P50 {分位(bag, .5):.1f} 微秒/次，P90 {分位(bag, .9):.1f} 微秒/次，读写共 {量[f] / 2**20:.1f} MiB")
print(f"  P50 之比（递归 / 一次）{分位(耗时[递归拼接], .5) / 分位(耗时[一次拼接], .5):.2f}；递归搬的数据是一次的 {量[递归拼接] / 量[一次拼接]:.0f} 倍，还多 {段数 - 2} 次启动")
print(f"host 时钟；每窗 {每窗} 次拼接、末尾等待一次并计入，再除以 {每窗}；共 {窗数} 窗，两种做法轮流")
