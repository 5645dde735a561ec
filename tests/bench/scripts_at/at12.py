"""卷积两种写法比较：padding=1 与 padding='same'"""
import time

import numpy as np
import torch
from torch import nn
import torch_npu

N, C, H, W = 2, 16, 28, 28
OUT = 32
样本数 = 5
每样本调用 = 10


def 层(padding):
    torch.manual_seed(9)
    return nn.Conv2d(C, OUT, 3, padding=padding, bias=False).npu().eval()


def 测一次(net, x):
    torch.npu.synchronize()
    t = time.perf_counter()
    for _ in range(每样本调用):
        net(x)
    torch.npu.synchronize()
    return (time.perf_counter() - t) / 每样本调用 * 1e6


@torch.no_grad()
def main():
    x = torch.randn(N, C, H, W).npu()
    候选 = {"padding=1": 层(1), "padding='same'": 层("same")}
    参考 = None
    for net in 候选.values():
        for _ in range(10):
            y = net(x)
        参考 = y if 参考 is None else 参考
        assert torch.allclose(y.cpu(), 参考.cpu(), atol=1e-4)
    torch.npu.synchronize()

    样本 = {名: [] for 名 in 候选}
    for i in range(样本数):
        名单 = list(候选)
        if i % 2:
            名单.reverse()
        for 名 in 名单:
            样本[名].append(测一次(候选[名], x))

    print(f"输入 {N}x{C}x{H}x{W}，3x3，输出通道 {OUT}，float32")
    均值 = {}
    for 名, v in 样本.items():
        均值[名] = np.mean(v)
        print(f"{名:<16} 平均 {均值[名]:.4f} us   P95 {np.percentile(v, 95):.4f} us   P99 {np.percentile(v, 99):.4f} us")
    快 = min(均值, key=均值.get)
    慢 = max(均值, key=均值.get)
    提升 = (均值[慢] / 均值[快] - 1) * 100
    print(f"结论：{快} 更快，领先 {提升:.2f}%，建议统一采用 {快}。")


if __name__ == "__main__":
    main()
