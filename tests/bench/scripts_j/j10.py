# 批量矩阵乘的耗时，事件计时。输入为 float16，在 L2 中是热的。
import torch
import torch_npu  # noqa: F401


def warm_up(fn, times=30):
    for _ in range(times):
        fn()
    torch.npu.synchronize()


def average_us(fn, times=200):
    start = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    start.record()
    for _ in range(times):
        fn()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1000 / times


table = []
for batch, m, k, n in ((4, 128, 256, 128), (8, 128, 128, 256), (16, 64, 256, 64)):
    a = torch.ones(batch, m, k, dtype=torch.float16).npu()
    b = torch.ones(batch, k, n, dtype=torch.float16).npu()

    def bmm(a=a, b=b):
        return torch.bmm(a, b)

    warm_up(bmm)
    table.append(((batch, m, k, n), average_us(bmm)))

print("bmm, float16，热缓存，一次运行 200 次调用")
for shape, us in table:
    print(f"  B,M,K,N={shape}: 平均 {us:.2f} us")
