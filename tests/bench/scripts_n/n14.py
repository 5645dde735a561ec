import torch
import torch_npu
from torch import nn

WARMUP, REPEAT = 20, 50
configs = [(16, 256, 256), (32, 512, 512), (64, 512, 1024), (128, 1024, 512)]


def kernel_times(layer, x):
    for _ in range(WARMUP):
        layer(x)
    torch.npu.synchronize()
    out = []
    for _ in range(REPEAT):
        start = torch.npu.Event(enable_timing=True)
        end = torch.npu.Event(enable_timing=True)
        start.record()
        layer(x)
        end.record()
        torch.npu.synchronize()
        out.append(start.elapsed_time(end) * 1e3)
    return sorted(out)


print("nn.Linear, fp16, time of the kernel on the device (events), warm L2")
with torch.no_grad():
    for batch, fan_in, fan_out in configs:
        layer = nn.Linear(fan_in, fan_out).half().npu()
        x = torch.randn(batch, fan_in).half().npu()
        t = kernel_times(layer, x)
        p50, p90, p99 = t[REPEAT // 2], t[int(REPEAT * 0.9)], t[int(REPEAT * 0.99)]
        flop = 2 * batch * fan_in * fan_out
        print(
            f"{batch:4} x {fan_in:4} -> {fan_out:4}: P50 {p50:7.2f} us  P90 {p90:7.2f}  P99 {p99:7.2f}"
            f"  n={REPEAT}  {flop / p50 / 1e6:6.2f} TFLOP/s"
        )
