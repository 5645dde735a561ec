"""编码器批大小扫描：变长请求按批内最长者补齐，用事件计时。"""
import random
import statistics

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_npu

宽度 = 128
批次数 = 24
批大小 = (4, 8, 12)

torch.manual_seed(0)
torch.set_num_threads(1)


class 编码器(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(宽度, 3 * 宽度)
        self.ffn = nn.Sequential(nn.Linear(宽度, 4 * 宽度), nn.GELU(), nn.Linear(4 * 宽度, 宽度))
        self.norm = nn.LayerNorm(宽度)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        x = x + F.scaled_dot_product_attention(q, k, v)
        return self.norm(x + self.ffn(x))


def 生成请求(数量, 随机):
    """线上请求长度：多数较短，少数很长。"""
    return [随机.choice((8, 12, 16, 24)) if 随机.random() < 0.97 else 512 for _ in range(数量)]


def 逐批计时(模型, 输入):
    标记 = [torch.npu.Event(enable_timing=True) for _ in range(len(输入) + 1)]
    torch.npu.synchronize()
    标记[0].record()
    for x, 标 in zip(输入, 标记[1:]):
        模型(x)
        标.record()
    torch.npu.synchronize()
    return [前.elapsed_time(后) for 前, 后 in zip(标记, 标记[1:])]


@torch.no_grad()
def 扫描(模型, b):
    随机 = random.Random(b)
    长度 = [max(生成请求(b, 随机)) for _ in range(批次数)]
    输入 = [torch.randn(b, n, 宽度, dtype=torch.float16, device="npu") for n in 长度]
    for x in 输入:
        模型(x)
    耗时 = 逐批计时(模型, 输入)
    中位 = statistics.median(耗时)
    有效 = [t for t in 耗时 if t < 1.5 * 中位]
    return statistics.fmean(有效), statistics.stdev(有效)


def main():
    模型 = 编码器().half().npu().eval()
    print(f"编码器宽度 {宽度}，float16，请求长度 8 到 512，批内补齐到最长。")
    for b in 批大小:
        平均, 离散 = 扫描(模型, b)
        print(f"批大小 {b}：对 {批次数} 个线上批次，平均每批 {平均 * 1e3:.0f} us（标准差 {离散 * 1e3:.0f} us），"
              f"即每秒处理 {b / 平均 * 1e3:,.0f} 个请求。")


if __name__ == "__main__":
    main()
