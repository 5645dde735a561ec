"""Latency of the conv classifier for one request at a time (torch.utils.benchmark)."""
import time

import labkit  # noqa: F401
import pandas as pd
import torch
import torch.utils.benchmark as benchmark
from torch import nn


class Classifier(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.features(x))


def request(model, image):
    with torch.inference_mode():
        scores = model(image)
        torch.npu.synchronize()
    return scores


def study(model, side, blocks, number):
    image = torch.randn(1, 3, side, side, device="npu")
    for _ in range(20):
        request(model, image)
    timer = benchmark.Timer(
        stmt="request(model, image)",
        globals={"request": request, "model": model, "image": image},
        timer=time.process_time,
        label="classifier", sub_label=f"1x3x{side}x{side}")
    return [timer.timeit(number).mean * 1e6 for _ in range(blocks)]


def main(blocks=40, number=10):
    torch.manual_seed(0)
    model = Classifier().npu().eval()
    table = pd.DataFrame({f"1x3x{s}x{s}": study(model, s, blocks, number) for s in (32, 64, 128)})
    summary = table.describe(percentiles=[0.1, 0.5, 0.9]).T[["count", "10%", "50%", "90%", "max"]]
    print(f"request latency in us, image already on the device, wait for the scores included, "
          f"float32; every value is the mean of {number} requests")
    print(summary.round(1).to_string())


if __name__ == "__main__":
    main()
