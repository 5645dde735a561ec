"""两条流能否并行：同样的两串矩阵乘，先放在一条流上，再分到两条流上。"""
from contextlib import contextmanager
from statistics import median

import torch
import torch_npu

边长, 串长, 次数 = 192, 5, 20
torch.set_num_threads(1)

main = torch.npu.current_stream()
side = [torch.npu.Stream(), torch.npu.Stream()]


@contextmanager
def 区间(记录):
    起, 止 = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    起.record(main)
    yield
    止.record(main)
    记录.append((起, 止))


torch.manual_seed(4)
w = (torch.randn(边长, 边长) / 边长 ** 0.5).half().to("npu")
xs = [torch.randn(边长, 边长).half().to("npu") for _ in range(2)]
bufs = [[torch.empty_like(xs[0]) for _ in range(2)] for _ in range(2)]


def chain(k):
    src = xs[k]
    for i in range(串长):
        dst = bufs[k][i % 2]
        torch.mm(src, w, out=dst)
        src = dst
    return src


def one_stream():
    return [chain(0), chain(1)]


def two_streams():
    out = []
    for k, s in enumerate(side):
        s.wait_stream(main)
        with torch.npu.stream(s):
            out.append(chain(k))
    for s in side:
        main.wait_stream(s)
    return out


a = [t.clone() for t in one_stream()]
torch.npu.synchronize()
b = [t.clone() for t in two_streams()]
torch.npu.synchronize()
assert all(torch.equal(p, q) for p, q in zip(a, b)), "两种排法的结果不同"
for _ in range(4):
    one_stream(), two_streams()
torch.npu.synchronize()

单, 双 = [], []
for _ in range(次数):
    with 区间(单):
        one_stream()
    torch.npu.synchronize()
    with 区间(双):
        two_streams()
    torch.npu.synchronize()

t1, t2 = (median(p.elapsed_time(q) for p, q in r) * 1e3 for r in (单, 双))
print(f"任务：2 串，每串 {串长} 次 {边长}x{边长} 的 float16 矩阵乘，两种排法算的完全一样，结果已逐位比对")
print(f"计时：主流上的一对事件；分流时起点之后才分出，两条流都汇合后才记终点，因此含跨流等待的开销，也含 host 下发的间隙")
print(f"一条流 中位数 {t1:.1f} 微秒；两条流 中位数 {t2:.1f} 微秒（各 {次数} 次，交替进行，已预热）")
print(f"一条流 / 两条流 = {t1 / t2:.2f}（大于 1 表示分流更快；完全重叠的上限是 2）")
