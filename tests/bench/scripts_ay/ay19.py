"""前缀和:整行 torch.cumsum 与两级分块扫描的对比(设备事件计时)。"""
import statistics

import torch
import torch_npu

形状列表 = [(256, 4096), (512, 4096), (256, 8192)]
块长 = 256
次数, 组数 = 10, 5


def whole(x):
    return torch.cumsum(x, dim=-1)


def two_level(x):
    rows, cols = x.shape
    blocks = x.view(rows, cols // 块长, 块长)
    local = torch.cumsum(blocks, dim=-1)
    totals = torch.cumsum(local[..., -1], dim=-1)
    return local, totals


def check(x):
    local, totals = two_level(x)
    carry = torch.nn.functional.pad(totals[:, :-1], (1, 0))
    full = (local + carry.unsqueeze(-1)).view_as(x)
    assert torch.allclose(full.cpu(), whole(x).cpu(), rtol=1e-3, atol=1e-2)


def event_us(fn, x):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    begin.record()
    for _ in range(次数):
        fn(x)
    end.record()
    torch.npu.synchronize()
    return begin.elapsed_time(end) * 1e3 / 次数


def main():
    print(f"设备 {torch.npu.get_device_name(0)},float32,每组 {次数} 次调用,共 {组数} 组,两种实现交替测量,取中位数。")
    for rows, cols in 形状列表:
        x = torch.rand(rows, cols).npu()
        check(x)
        for fn in (whole, two_level):
            event_us(fn, x)
        a, b = [], []
        for turn in range(组数):
            for fn, got in ((whole, a), (two_level, b)) if turn % 2 else ((two_level, b), (whole, a)):
                got.append(event_us(fn, x))
        ta, tb = statistics.median(a), statistics.median(b)
        word = "慢" if tb > ta else "快"
        print(f"形状 {rows} x {cols}:torch.cumsum 求整行前缀和用时 {ta:.1f} us({min(a):.1f} 到 {max(a):.1f}),"
              f"两级扫描求整行前缀和用时 {tb:.1f} us({min(b):.1f} 到 {max(b):.1f}),"
              f"后者{word} {abs(tb / ta - 1) * 100:.0f} %。")


if __name__ == "__main__":
    main()
