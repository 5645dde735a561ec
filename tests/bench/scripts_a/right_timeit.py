# right
import timeit
import numpy as np
import torch
import torch_npu


def hundred():
    for _ in range(100):
        torch.tanh(x)
    torch.npu.synchronize()


for shape in ((100, 100), (777, 513)):
    x = torch.randn(*shape).npu()
    hundred()
    us = np.array(timeit.repeat(hundred, repeat=10, number=1)) * 1e4
    print(f"tanh {shape}: {np.median(us):.2f} us a call, {us.min():.2f} to {us.max():.2f}")
