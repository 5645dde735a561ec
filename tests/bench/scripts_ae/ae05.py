"""What the on-device preprocessing of an image batch costs: cast to fp16, channels_last, normalise."""
import statistics as st
from contextlib import contextmanager

import torch
import labkit  # noqa: F401

BATCH = (16, 3, 224, 224)
POOL, ROUNDS = 6, 12


class Preprocess:
    """Loader gives fp32 NCHW; the network wants fp16 channels_last with zero mean."""

    def __init__(self):
        self.mean = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1).half().npu()
        self.scale = (1 / torch.tensor([0.229, 0.224, 0.225])).view(1, 3, 1, 1).half().npu()

    def __call__(self, batch):
        batch = batch.to(torch.float16)
        batch = batch.contiguous(memory_format=torch.channels_last)
        return (batch - self.mean) * self.scale


class Feed:
    """A ring of batches on the device, like the prefetcher's."""

    def __init__(self, count):
        g = torch.Generator().manual_seed(7)
        self.slots = [torch.rand(BATCH, generator=g).npu() for _ in range(count)]

    def through(self, stage):
        for k, batch in enumerate(self.slots):
            self.slots[k] = stage(batch)  # in place of the raw one: the ring must not grow
            yield k


@contextmanager
def device_us(into):
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a.record()
    yield
    b.record()
    into.append((a, b))


def main():
    feed, stage = Feed(POOL), Preprocess()
    for _ in range(3):  # warm: every operator loaded, every slot touched
        for _ in feed.through(stage):
            pass
    torch.npu.synchronize()

    marks = []
    for _ in range(ROUNDS):
        with device_us(marks):
            for _ in feed.through(stage):
                pass
    torch.npu.synchronize()

    us = sorted(1e3 * a.elapsed_time(b) / POOL for a, b in marks)
    out = feed.slots[0]
    assert out.dtype is torch.float16 and out.is_contiguous(memory_format=torch.channels_last)
    print(f"batch {'x'.join(map(str, BATCH))}, ring of {POOL}, {ROUNDS} rounds, warm (the ring fits the L2)")
    print(f"preprocessing fp32 NCHW -> fp16 channels_last, normalised: {st.median(us):.1f} us a batch "
          f"(rounds from {us[0]:.1f} to {us[-1]:.1f})")
    print(f"that is {BATCH[0] / st.median(us) * 1e6:,.0f} images/s on the device")


main()
