# lies: one_shape
import timeit
import torch
import torch_npu
from statistics import median, pstdev

a = torch.randn(24, 24, 36).npu()


def run():
    for _ in range(50):
        a.transpose(1, 2).contiguous()
    torch.npu.synchronize()


run()
per_call = [t / 50 * 1e6 for t in timeit.Timer(run).repeat(repeat=9, number=1)]
print("transpose on NPU:", round(median(per_call), 2), "us, spread", round(pstdev(per_call), 3))
