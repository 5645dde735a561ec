"""三元组 a = b + s * c 的显存带宽。"""
import os

os.environ["OMP_NUM_THREADS"] = "1"

import contextlib
import statistics

import torch
import torch_npu

ELEMENTS = 2**25
TIMES = 24
PEAK = 1600.0  # GB/s，数据手册


class Tape:
    def __init__(self):
        self.marks = []

    @contextlib.contextmanager
    def slot(self):
        left = torch.npu.Event(enable_timing=True)
        right = torch.npu.Event(enable_timing=True)
        left.record()
        yield
        right.record()
        self.marks.append((left, right))

    def milliseconds(self):
        torch.npu.synchronize()
        return [left.elapsed_time(right) for left, right in self.marks]


b = torch.full((ELEMENTS,), 2.0, device="npu")
c = torch.full((ELEMENTS,), 0.5, device="npu")
a = torch.empty_like(b)
torch.npu.synchronize()

tape = Tape()
for _ in range(TIMES + 1):
    with tape.slot():
        torch.add(b, c, alpha=3.0, out=a)
first, *rest = tape.milliseconds()
assert a[:8].tolist() == [3.5] * 8 and a[-8:].tolist() == [3.5] * 8

moved = a.nbytes + b.nbytes + c.nbytes
mid = statistics.median(rest)
print("【HBM 带宽，三元组】")
print(f"数组：3 个 float32，各 {a.nbytes / 2**20:.0f} MiB，合计 {moved / 2**20:.0f} MiB，是 192 MiB L2 的两倍；每遍从头到尾扫过，留在缓存里的是上一遍的末尾，轮到它之前已被替换（按 LRU）。")
print(f"计入字节：读 b、读 c、写 a，共 {moved / 1e6:.1f} MB（不计写分配）。")
print(f"第 1 遍：{first * 1e3:8.1f} us　　　（含首次启动，仅供参考）")
print(f"第 2 遍至第 {TIMES + 1} 遍：中位数 {mid * 1e3:.1f} us，最快 {min(rest) * 1e3:.1f} us，最慢 {max(rest) * 1e3:.1f} us")
print(f"中位数对应 {moved / mid / 1e6:.0f} GB/s；手册峰值 {PEAK:.0f} GB/s，为其 {moved / mid / 1e6 / PEAK:.0%}。")
print("时间由设备事件给出；1 GB = 10^9 字节。")
