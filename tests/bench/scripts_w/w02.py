"""Throughput of the on-card augmentation: crops wait in pinned memory, a second stream brings them over."""
import time

import numpy as np
import torch
import torch_npu

IMAGES, BATCH, SIDE = 256, 32, 48
EPOCHS = 25


class Prefetcher:
    """Gives batches on the card; the next one is on its way while the current one is used."""

    def __init__(self, batches):
        self.batches = iter(batches)
        self.lane = torch.npu.Stream()
        self.upcoming = None

    def _send(self):
        host = next(self.batches, None)
        if host is None:
            self.upcoming = None
            return
        with torch.npu.stream(self.lane):
            self.upcoming = host.to("npu", non_blocking=True)

    def __iter__(self):
        self._send()
        return self

    def __next__(self):
        torch.npu.current_stream().wait_stream(self.lane)
        batch = self.upcoming
        if batch is None:
            raise StopIteration
        batch.record_stream(torch.npu.current_stream())
        self._send()
        return batch


class Augment:
    def __init__(self):
        self.mean = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1).npu()
        self.std = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1).npu()

    def __call__(self, images):
        flipped = torch.flip(images, dims=(3,))
        bright = (flipped * 1.1).clamp_(0, 1)
        return (bright - self.mean) / self.std


def main():
    torch.manual_seed(3)
    data = torch.rand(IMAGES, 3, SIDE, SIDE)
    batches = [part.contiguous().pin_memory() for part in data.split(BATCH)]
    augment = Augment()
    loader = Prefetcher(batches)

    # One epoch to load operators, compared with the host.
    outputs = [augment(batch) for batch in loader]
    torch.npu.synchronize()
    wanted = ((torch.flip(data, dims=(3,)) * 1.1).clamp(0, 1) - augment.mean.cpu()) / augment.std.cpu()
    assert torch.allclose(torch.cat(outputs).cpu(), wanted, atol=1e-5)
    del outputs

    seconds = []
    for _ in range(EPOCHS):
        torch.npu.synchronize()
        begin = time.perf_counter()
        for batch in loader:
            augment(batch)
        torch.npu.synchronize()
        seconds.append(time.perf_counter() - begin)

    rate = IMAGES / np.array(seconds)
    low, middle, high = np.percentile(rate, [10, 50, 90])
    print(f"upload and augmentation, {IMAGES} images of 3x{SIDE}x{SIDE} float32 in batches of {BATCH}, pinned, {EPOCHS} epochs")
    print(f"images a second: P50 {middle:,.0f} (P10 {low:,.0f}, P90 {high:,.0f})")
    print(f"epoch: median {1e3 * np.median(seconds):.3f} ms, longest {1e3 * max(seconds):.3f} ms")


if __name__ == "__main__":
    main()
