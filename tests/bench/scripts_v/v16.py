"""Image throughput of the encoder at the two batch sizes we deploy."""
import statistics
import time

import torch
import torch.nn as nn
import torch_npu

WINDOWS, BATCHES_PER_WINDOW = 4, 5


class Residual(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x):
        return torch.relu(x + self.conv2(torch.relu(self.conv1(x))))


class Encoder(nn.Module):
    def __init__(self, ch=16, blocks=2, out=64):
        super().__init__()
        self.stem = nn.Conv2d(3, ch, 4, stride=4)
        self.blocks = nn.Sequential(*[Residual(ch) for _ in range(blocks)])
        self.head = nn.Linear(ch, out)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        return self.head(x.mean(dim=(2, 3)))


class Throughput:
    def __init__(self, model, images):
        self.model, self.images = model, images

    @torch.inference_mode()
    def window(self):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        for x in self.images:
            self.model(x)
        torch.npu.synchronize()
        return time.perf_counter() - t0


def main():
    torch.manual_seed(0)
    model = Encoder().to("npu").eval()
    print("batch   images/s   s/window (mean +- std)")
    for batch in (4, 16):
        images = [torch.randn(batch, 3, 64, 64, device="npu") for _ in range(BATCHES_PER_WINDOW)]
        bench = Throughput(model, images)
        secs = [bench.window() for _ in range(WINDOWS)]
        count = batch * BATCHES_PER_WINDOW
        mean, std = statistics.mean(secs), statistics.stdev(secs)
        print(f"{batch:5d} {count / mean:10.0f}   {mean:.4f} +- {std:.4f}")
    print(f"steady-state forward throughput, fp32, 64x64 images resident on the device, "
          f"{WINDOWS} windows of {BATCHES_PER_WINDOW} batches")


if __name__ == "__main__":
    main()
