# 有意测热缓存：只问 L2 能给多少带宽，不代表 HBM。
from dataclasses import dataclass

import numpy as np
import torch
import torch_npu  # noqa: F401


@dataclass(frozen=True)
class Case:
    elements: int

    @property
    def bytes_moved(self):
        return 3 * 2 * self.elements

    def samples(self, count=200):
        a, b = torch.rand(self.elements).half().npu(), torch.rand(self.elements).half().npu()
        c = torch.empty_like(a)
        for _ in range(25):  # 把三个张量都放进 L2，也装载算子
            torch.maximum(a, b, out=c)
        torch.npu.synchronize()
        begins = [torch.npu.Event(enable_timing=True) for _ in range(count)]
        ends = [torch.npu.Event(enable_timing=True) for _ in range(count)]
        for begin, end in zip(begins, ends, strict=True):
            begin.record()
            torch.maximum(a, b, out=c)
            end.record()
        torch.npu.synchronize()
        return np.array([begin.elapsed_time(end) for begin, end in zip(begins, ends, strict=True)]) / 1e3


print("maximum，float16，数据全部常驻 L2（热缓存，有意为之；不是 HBM 带宽）")
for case in (Case(1 << 21), Case(1 << 22), Case(3 << 21)):
    seconds = case.samples()
    gbs = case.bytes_moved / seconds / 1e9
    p5, p50, p95 = np.percentile(gbs, [5, 50, 95])
    print(
        f"  [{case.elements}] 三个张量共 {case.bytes_moved / 2**20:.0f} MiB: L2 带宽中位数 {p50:.0f} GB/s，P5 {p5:.0f}，P95 {p95:.0f}，n={len(gbs)}"
    )
