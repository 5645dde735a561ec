"""Forward pass of the spectrogram network. Each call gets fresh input, as in production."""
import argparse
import time
from itertools import islice

import numpy as np
import torch
import torch.nn as nn
import torch_npu


def spectrograms(batch, bands, frames, seed):
    """Endless clips: a few drifting tones over noise."""
    rng = np.random.default_rng(seed)
    axis = np.arange(bands, dtype=np.float32)[:, None]
    while True:
        centre = rng.uniform(0, bands, (batch, 1, 1, 1)) + rng.normal(0, 1, (batch, 1, 1, frames)).cumsum(-1)
        clip = np.exp(-((axis - centre) ** 2) / 8) + 0.1 * rng.random((batch, 1, bands, frames))
        yield torch.from_numpy(clip.astype(np.float32)).npu()


class Network(nn.Module):
    def __init__(self, channels=8, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU(),
        )
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        return self.head(self.features(x).mean(dim=(2, 3)))


def wall(network, clips, calls):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for scores in map(network, islice(clips, calls)):
        pass
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / calls, scores


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--bands", type=int, default=40)
    parser.add_argument("--frames", type=int, default=64)
    parser.add_argument("--samples", type=int, default=24)
    parser.add_argument("--calls", type=int, default=5)
    args = parser.parse_args()

    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    network = Network().eval()
    clips = spectrograms(args.batch, args.bands, args.frames, seed=2)
    example = next(clips)
    wanted = network(example.cpu())
    network.npu()
    assert torch.allclose(network(example).cpu(), wanted, atol=1e-4)

    for _ in range(4):
        wall(network, clips, args.calls)
    us = []
    for _ in range(args.samples):
        seconds, scores = wall(network, clips, args.calls)
        assert scores.shape == (args.batch, 10)
        us.append(1e6 * seconds)

    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    print(f"forward pass, batch {args.batch}, {args.bands} bands x {args.frames} frames, float32")
    print(f"P50 {p50:.1f} us   P10 {p10:.1f}   P90 {p90:.1f}   ({args.samples} samples of {args.calls} passes and one wait)")


if __name__ == "__main__":
    main()
