import statistics
import time

import torch
import torch.nn as nn
import torch_npu


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(width))
        self.shift = nn.Parameter(torch.rand(width))

    def forward(self, x):
        y = x * self.scale + self.shift
        return torch.sigmoid(y) * torch.tanh(y) + x


def preheat(model, batches):
    with torch.no_grad():
        for batch in batches:
            model(batch)
    torch.npu.synchronize()


def epoch(model, batches):
    torch.npu.synchronize()
    begin = time.perf_counter()
    with torch.no_grad():
        for batch in batches:
            model(batch)
    torch.npu.synchronize()
    return time.perf_counter() - begin


def main(epochs=6, count=25):
    for rows, width in (128, 512), (256, 1024):
        torch.manual_seed(rows)
        model = Gate(width).npu().eval()
        batches = [torch.randn(rows, width).npu() for _ in range(count)]
        preheat(model, batches)
        optimised = torch.compile(model, dynamic=False)
        seconds = [epoch(optimised, batches) for _ in range(epochs)]
        rate = rows * count * epochs / sum(seconds)
        print(f"compiled gate, float32, {rows} x {width}: {rate:,.0f} rows/s; a batch takes {statistics.mean(seconds) / count * 1e6:.1f} us "
              f"(standard deviation over {epochs} epochs {statistics.stdev(seconds) / count * 1e6:.1f} us)")


if __name__ == "__main__":
    main()
