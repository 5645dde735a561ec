"""取前 k 个：torch.topk 与整行排序再截断，哪个划算？"""
from functools import partial

import torch
import torch_npu

行, 词表 = 8, 8000
窗口, 每窗 = 11, 4


def 直接(k, x):
    return torch.topk(x, k, dim=-1)


def 先排序(k, x):
    值, 位 = torch.sort(x, dim=-1, descending=True)
    return 值[:, :k], 位[:, :k]


def 计时(fn):
    for _ in range(3):
        fn()
    torch.npu.synchronize()
    对 = []
    for _ in range(窗口):
        a, b = (torch.npu.Event(enable_timing=True) for _ in range(2))
        a.record()
        for _ in range(每窗):
            fn()
        b.record()
        对.append((a, b))
    torch.npu.synchronize()
    us = sorted(a.elapsed_time(b) * 1e3 / 每窗 for a, b in 对)
    中 = (us[(len(us) - 1) // 2] + us[len(us) // 2]) / 2
    return us[0], 中, us[-1]


def 核对(fn, x, 标准):
    值, 位 = fn()
    return torch.equal(值.cpu(), 标准) and torch.equal(x.gather(1, 位).cpu(), 标准)


def main():
    cpu = torch.randn(行, 词表, generator=torch.Generator().manual_seed(21))
    x = cpu.to("npu")
    print(f"输入 {行} x {词表}，fp32，按行取最大的 k 个，降序；热缓存（每次同一输入）")
    for k in (1, 50, 500):
        标准 = torch.topk(cpu, k, dim=-1).values
        print(f"k = {k}")
        for 名, fn in (("topk", partial(直接, k, x)), ("sort 后截断", partial(先排序, k, x))):
            if not 核对(fn, x, 标准):
                raise SystemExit(f"{名} 的结果与 CPU 不一致")
            最好, 中, 最差 = 计时(fn)
            print(f"    {名}：中位数 {中:.1f} us，最好情况 {最好:.1f} us，最差窗口 {最差:.1f} us，摊到每行 {中 / 行:.2f} us（按中位数）")
    print(f"每个数字是设备事件之间 {每窗} 次连续调用的平均；中位数、最好、最差都取自 {窗口} 个这样的窗口。")
    print("两边都返回值和下标，计时前都已与 CPU 结果逐个核对；截断只是视图，不复制数据。")


if __name__ == "__main__":
    main()
