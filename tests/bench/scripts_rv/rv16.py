"""分块计算能省多少显存、要多花多少时间。"""
import argparse
import statistics
import time

import torch
import torch_npu
import torch.nn.functional as F

ap = argparse.ArgumentParser()
ap.add_argument("--rows", type=int, default=1024)
ap.add_argument("--width", type=int, default=128)
ap.add_argument("--expand", type=int, default=8)
ap.add_argument("--chunks", type=int, default=4)
ap.add_argument("--times", type=int, default=15)
opt = ap.parse_args()
torch.set_num_threads(1)

torch.manual_seed(8)
x = torch.randn(opt.rows, opt.width).half().to("npu")
up = (torch.randn(opt.width, opt.width * opt.expand) / opt.width**0.5).half().to("npu")
down = (torch.randn(opt.width * opt.expand, opt.width) / (opt.width * opt.expand) ** 0.5).half().to("npu")


def whole():
    return F.gelu(x @ up) @ down


def chunked():
    out = torch.empty_like(x)
    for src, dst in zip(x.chunk(opt.chunks), out.chunk(opt.chunks)):
        dst.copy_(F.gelu(src @ up) @ down)
    return out


def peak(fn):
    """峰值减去调用之前已占用的（输入和权重）。"""
    torch.npu.synchronize()
    base = torch.npu.memory_allocated()
    torch.npu.reset_peak_memory_stats()
    y = fn()
    torch.npu.synchronize()
    del y
    return torch.npu.max_memory_allocated() - base


def clocks(fn):
    wall, pairs = [], []
    for _ in range(opt.times):
        e = [torch.npu.Event(enable_timing=True) for _ in range(2)]
        torch.npu.synchronize()
        t = time.perf_counter()
        e[0].record()
        fn()
        e[1].record()
        torch.npu.synchronize()
        wall.append((time.perf_counter() - t) * 1e3)
        pairs.append(e)
    return statistics.median(a.elapsed_time(b) for a, b in pairs), statistics.median(wall)


with torch.inference_mode():
    a, b = whole(), chunked()
    worst = (a - b).abs().max().item()
    assert worst < 1e-2, worst
    del a, b
    for fn in (whole, chunked):
        fn(), fn()
    print(f"两层 MLP，{opt.rows} 行，宽 {opt.width}，中间放大 {opt.expand} 倍，float16；分块版切成 {opt.chunks} 块；两者最大差 {worst:.1e}")
    print("做法    峰值增量(MiB)   设备事件(ms)   host 时钟(ms，含一次等待)")
    for label, fn in ("整体", whole), ("分块", chunked):
        ev, wl = clocks(fn)
        print(f"{label}  {peak(fn) / 2**20:12.2f}  {ev:12.3f}  {wl:12.3f}")
    print(f"峰值增量：已扣除输入与权重，含输出；取自 max_memory_allocated，是分配量，不是 reserved（现为 {torch.npu.memory_reserved() / 2**20:.0f} MiB，两种做法跑完之后）")
    print(f"时间为 {opt.times} 次的中位数，与峰值分开测；事件区间含启动间隙")
