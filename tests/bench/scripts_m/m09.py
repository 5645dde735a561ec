import numpy as np
import torch
import torch_npu  # noqa: F401

# LayerNorm 算子耗时（设备事件，20 轮，报告分位数）


def layer_norm_us(rows, cols, rounds=20, calls=10):
    host = torch.ones(rows, cols)
    weight, bias = torch.ones(cols, device="npu"), torch.zeros(cols, device="npu")
    for _ in range(5):
        torch.nn.functional.layer_norm(host.to("npu"), (cols,), weight, bias)
    torch.npu.synchronize()
    out = []
    for _ in range(rounds):
        s, e = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        s.record()
        for _ in range(calls):
            x = host.to("npu")
            torch.nn.functional.layer_norm(x, (cols,), weight, bias)
        e.record()
        torch.npu.synchronize()
        out.append(s.elapsed_time(e) * 1e3 / calls)
    return np.percentile(out, [10, 50, 90])


print("layer_norm kernel time, fp32")
for shape in ((64, 256), (256, 768), (512, 1024)):
    p10, p50, p90 = layer_norm_us(*shape)
    print(f"  {shape!s:>12}  P10 {p10:8.2f}  P50 {p50:8.2f}  P90 {p90:8.2f} us")
