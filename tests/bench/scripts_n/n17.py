import numpy as np
import torch
import torch_npu
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(b, s, d))


def sample(layer, x, n):
    marks = []
    for _ in range(n):
        s = torch.npu.Event(enable_timing=True)
        e = torch.npu.Event(enable_timing=True)
        s.record()
        layer(x)
        e.record()
        marks.append((s, e))
    torch.npu.synchronize()
    return np.array([s.elapsed_time(e) * 1e3 for s, e in marks])


@torch.no_grad()
def main():
    torch.manual_seed(3)
    layer = SelfAttention(256, 4).half().npu()
    print("self attention layer, dim 256, 4 heads, fp16, warm L2, 120 calls per shape")
    for batch, seq in [(1, 32), (1, 64), (2, 64)]:
        x = torch.randn(batch, seq, 256).half().npu()
        sample(layer, x, 15)
        us = sample(layer, x, 120)
        us = us[us < 1.5 * np.median(us)]
        p50, p90, p99 = np.percentile(us, [50, 90, 99])
        print(f"{batch} x {seq:3}: P50 {p50:.1f}  P90 {p90:.1f}  P99 {p99:.1f}  max {us.max():.1f} us, mean {us.mean():.1f}, std {us.std():.1f}")


main()
