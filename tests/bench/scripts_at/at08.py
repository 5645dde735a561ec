# GELU 单算子测试（fp16）
import torch
import torch.nn.functional as F
import torch_npu

torch.npu.set_device(0)
SHAPES = ((256, 1024), (512, 1024), (512, 2048))
WARMUP = 10
LOOPS = 40


def median(values):
    values = sorted(values)
    m = len(values) // 2
    return values[m] if len(values) % 2 else 0.5 * (values[m - 1] + values[m])


def run(x, approximate):
    for _ in range(WARMUP):
        F.gelu(x, approximate=approximate)
    torch.npu.synchronize()

    times = []
    for _ in range(LOOPS):
        begin = torch.npu.Event(enable_timing=True)
        end = torch.npu.Event(enable_timing=True)
        begin.record()
        F.gelu(x, approximate=approximate)
        end.record()
        torch.npu.synchronize()
        times.append(begin.elapsed_time(end) * 1000)
    return median(times), min(times), max(times)


def main():
    print(f"设备：{torch.npu.get_device_name(0)}")
    print(f"预热 {WARMUP} 次，计时 {LOOPS} 次，取中位数\n")
    print("形状            近似    kernel 耗时(us)   最小     最大    吞吐(G 元素/s)")
    for shape in SHAPES:
        x = torch.randn(*shape, device="npu").half()
        for approximate in ("none", "tanh"):
            mid, low, high = run(x, approximate)
            rate = x.numel() / mid / 1e3
            name = "x".join(map(str, shape))
            print(f"{name:<14}{approximate:>7}{mid:>14.2f}{low:>12.2f}{high:>9.2f}{rate:>14.1f}")
    print("\n结论：kernel 耗时由设备事件给出，可直接用于算子的算力核算；吞吐 = 元素数 / kernel 耗时。")


if __name__ == "__main__":
    main()
