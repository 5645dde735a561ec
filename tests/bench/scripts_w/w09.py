"""At what rate does the update of the averaged weights (EMA) read and write HBM?"""
import argparse
import itertools

import numpy as np
import torch
import torch_npu


class Averaged:
    """Keeps a running average of weights, one lerp for each of them."""

    def __init__(self, weights, decay):
        self.weights = weights
        self.average = [w.clone() for w in weights]
        self.decay = decay

    @torch.no_grad()
    def update(self):
        for average, weight in zip(self.average, self.weights):
            average.lerp_(weight, 1 - self.decay)

    @property
    def moved(self):
        """Bytes of an update: average and weight are read, average is written."""
        return sum(3 * w.numel() * w.element_size() for w in self.weights)


def layer_weights(layers, width):
    generator = torch.Generator().manual_seed(6)
    return [torch.randn(width, width, generator=generator).npu() for _ in range(layers)]


def check(decay):
    start, target = torch.zeros(64, 64), torch.ones(64, 64)
    averaged = Averaged([start.npu()], decay)
    averaged.weights = [target.npu()]
    for _ in range(5):
        averaged.update()
    wanted = torch.full((64, 64), 1 - decay**5)
    assert torch.allclose(averaged.average[0].cpu(), wanted, atol=1e-5)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--updates", type=int, default=60)
    args = parser.parse_args()

    check(decay=0.99)
    averaged = Averaged(layer_weights(args.layers, args.width), decay=0.999)
    for _ in range(8):
        averaged.update()
    torch.npu.synchronize()

    marks = [torch.npu.Event(enable_timing=True) for _ in range(args.updates + 1)]
    marks[0].record()
    for mark in marks[1:]:
        averaged.update()
        mark.record()
    torch.npu.synchronize()

    us = np.array([1e3 * a.elapsed_time(b) for a, b in itertools.pairwise(marks)])
    rate = averaged.moved / us / 1e3
    slow, middle, fast = np.percentile(rate, [10, 50, 90])
    print(f"EMA of {args.layers} weights of {args.width} x {args.width} float32, {averaged.moved / 1e6:.0f} MB moved an update")
    print(f"update: P50 {np.median(us):.1f} us, P10 {np.percentile(us, 10):.1f}, P90 {np.percentile(us, 90):.1f} ({len(us)} updates in a row)")
    print(f"HBM: {middle:.0f} GB/s (P10 {slow:.0f}, P90 {fast:.0f})")


if __name__ == "__main__":
    main()
