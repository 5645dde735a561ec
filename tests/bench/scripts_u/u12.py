"""Image pipeline benchmark: end-to-end batch time, and the model alone for reference."""
import argparse
import statistics
import time
from contextlib import contextmanager

import labkit  # noqa: F401
import numpy as np
import torch
from torch import nn


@contextmanager
def stopwatch(sink):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    yield
    torch.npu.synchronize()
    sink.append((time.perf_counter() - t0) * 1e3)


def collate(rng, batch):
    imgs = [rng.integers(0, 256, (3, 64, 64), dtype=np.uint8) for _ in range(batch)]
    return torch.from_numpy(np.stack(imgs))


def net():
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(),
        nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )


def line(label, ms):
    print(f"{label:<58} median {statistics.median(ms):8.3f}  min {min(ms):8.3f}  max {max(ms):8.3f} ms")


@torch.inference_mode()
def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--iters", type=int, default=12)
    args = ap.parse_args()

    rng = np.random.default_rng(0)
    model = net().to("npu").eval()

    def end_to_end():
        raw = collate(rng, args.batch)
        x = raw.to("npu").float().div_(255)
        return model(x).argmax(-1).cpu()

    resident = collate(rng, args.batch).to("npu").float().div_(255)
    for _ in range(4):
        end_to_end()
        model(resident)

    e2e, alone = [], []
    for _ in range(args.iters):
        with stopwatch(e2e):
            end_to_end()
        with stopwatch(alone):
            for _ in range(5):
                model(resident)
    alone = [t / 5 for t in alone]

    print(f"batch {args.batch}, 3x64x64, {args.iters} samples each")
    line("end-to-end (generate + collate + H2D + model + D2H)", e2e)
    line("model alone, input resident, 5 batches back to back", alone)


if __name__ == "__main__":
    main()
