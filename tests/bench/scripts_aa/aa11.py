import time

import pandas as pd
import torch
import torch.nn as nn
import torch_npu


class SmallCNN(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        )
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def epoch(model, images, passes):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(passes):
        model(images)
    torch.npu.synchronize()
    return time.perf_counter() - begin


def collect(batches=(4, 16), passes=8, repeats=4):
    for batch in batches:
        for repeat in range(repeats):
            model = SmallCNN().npu().eval()
            images = torch.randn(batch, 3, 32, 32, device="npu")
            seconds = epoch(model, images, passes)
            yield {"batch": batch, "repeat": repeat, "ms_per_pass": 1e3 * seconds / passes, "images_per_s": batch * passes / seconds}


if __name__ == "__main__":
    torch.manual_seed(0)
    with torch.inference_mode():
        frame = pd.DataFrame(collect())
    summary = frame.groupby("batch")[["ms_per_pass", "images_per_s"]].agg(["mean", "std", "min", "max"])
    print("SmallCNN inference, 3 x 32 x 32 images, float32, 4 repeats of 8 passes")
    print(summary.round(3).to_string())
    for batch, row in summary.iterrows():
        print(f"batch {batch}: {row[('images_per_s', 'mean')]:.0f} +- {row[('images_per_s', 'std')]:.0f} images/s, "
              f"{row[('ms_per_pass', 'mean')]:.3f} +- {row[('ms_per_pass', 'std')]:.3f} ms a pass")
