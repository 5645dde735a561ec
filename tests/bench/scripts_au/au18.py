# silu(gate) * up 的两种写法对比（SwiGLU 前馈层里的门控部分）
import torch
import torch.nn.functional as F
import torch_npu

WARMUP = 10
REPEAT = 40
SHAPES = [(64, 1024), (256, 2048), (512, 2048)]


def separate(packed):
    gate, up = packed.chunk(2, dim=-1)
    return F.silu(gate) * up


def fused(packed):
    return torch_npu.npu_swiglu(packed, dim=-1)


def microseconds(fn, packed):
    for _ in range(WARMUP):
        fn(packed)
    torch.npu.synchronize()

    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    begin.record()
    for _ in range(REPEAT):
        fn(packed)
    end.record()
    torch.npu.synchronize()
    return begin.elapsed_time(end) * 1000 / (WARMUP + REPEAT)


def main():
    torch.manual_seed(6)
    print(f"设备：{torch.npu.get_device_name(0)}，数据类型 float16，数据留在 L2 中。")
    print(f"每个数字都是预热之后连续调用的平均值，用设备事件计时，循环之后只等待一次。")
    for rows, width in SHAPES:
        packed = torch.randn(rows, 2 * width).half().npu()
        two = microseconds(separate, packed)
        one = microseconds(fused, packed)
        traffic = 3 * rows * width * 2
        print(f"形状 {rows}×{width}：silu 与乘法分开写，每次 {two:.2f} 微秒；"
              f"npu_swiglu 每次 {one:.2f} 微秒，相当于 {traffic / one / 1e3:.0f} GB/s，"
              f"前者是后者的 {two / one:.2f} 倍。")
    print("以上结论只适用于所列的形状。")


if __name__ == "__main__":
    main()
