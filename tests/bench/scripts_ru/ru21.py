# 矩阵乘：速度与精度（对照 CPU 上的 float64 结果）
import time

import torch
import torch_npu

每窗, 窗数 = 4, 16


def 计时(f):
    f(); f()
    torch.npu.synchronize()
    样本 = torch.empty(窗数, dtype=torch.float64)
    for i in range(窗数):
        t = time.perf_counter()
        for _ in range(每窗):
            f()
        torch.npu.synchronize()
        样本[i] = (time.perf_counter() - t) / 每窗
    return 样本


print(f"A[m,k] × B[k,n]，每个窗口连续 {每窗} 次、末尾等待一次，共 {窗数} 个窗口；时间为每次平均，单位微秒")
for m, k, n in [(64, 64, 64), (64, 256, 64), (128, 128, 128)]:
    torch.manual_seed(m + k + n)
    a, b = torch.randn(m, k), torch.randn(k, n)
    for 类型 in (torch.float32, torch.float16):
        x, y = a.to(类型), b.to(类型)
        xn, yn = x.npu(), y.npu()
        s = 计时(lambda: torch.matmul(xn, yn))
        q = torch.quantile(s, torch.tensor([0.5, 0.9], dtype=torch.float64))
        真值 = x.double() @ y.double()
        误差 = ((xn @ yn).cpu().double() - 真值).norm() / 真值.norm()
        print(
            f"m={m} k={k} n={n} {str(类型)[6:]}: 中位数 {q[0] * 1e6:.2f}，P90 {q[1] * 1e6:.2f}，"
            f"中位数对应 {2 * m * k * n / q[0] / 1e9:.1f} GFLOP/s，相对误差（Frobenius 范数）{误差:.2e}"
        )
print("误差的真值由同一份（已转换类型的）输入在 CPU 上以 float64 算出，所以不含输入转换的误差；算真值与取回结果都不在计时内。")
print("热缓存：输入不变。形状小，时间里启动开销占多少没有单独分开。")
