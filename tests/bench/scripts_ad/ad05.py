"""What does a training job wait for at its input? End-to-end time of a batch, host side.

From "give me the next batch" to "the batch is normalised and on the card": decoding on the CPU, collation, the copy
to the device and the normalisation there are all meant to be in the figure, as the training loop has to sit through
all of them with num_workers=0. This is no kernel time, and no bandwidth of the link.

The host's clock is used on purpose; the device is waited for at the end of each batch, since the loop needs it.
"""
import time

import numpy as np
import torch
import torch_npu
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    """Compressed bytes in memory; "decoding" unpacks bits, as cheap codecs do."""

    def __init__(self, count, size):
        generator = np.random.default_rng(4)
        self.size = size
        self.blobs = [generator.integers(0, 256, size * size * 3 // 8, dtype=np.uint8) for _ in range(count)]

    def __len__(self):
        return len(self.blobs)

    def __getitem__(self, index):
        bits = np.unpackbits(self.blobs[index])
        return torch.from_numpy(bits.reshape(3, self.size, self.size).astype(np.float32))


def epoch(loader, mean, std):
    times = []
    batches = iter(loader)
    while True:
        begin = time.perf_counter()
        try:
            batch = next(batches)
        except StopIteration:
            return times
        ready = (batch.npu() - mean) / std
        torch.npu.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
        assert ready.shape == batch.shape


def main():
    print("batch ready on the device, ms by the host's clock: decode + collate + copy + normalise, no workers")
    print(f"{'image':>6} {'batch':>6} {'n':>4} {'P10':>9} {'P50':>9} {'P90':>9} {'max':>9}")
    mean, std = torch.tensor(0.5).npu(), torch.tensor(0.25).npu()
    for size in (32, 64):
        for batch in (4, 16):
            loader = DataLoader(Images(batch * 30, size), batch_size=batch, shuffle=False, drop_last=True)
            epoch(loader, mean, std)  # one whole epoch that is not reported
            times = epoch(loader, mean, std)
            p10, p50, p90 = np.percentile(times, [10, 50, 90])
            print(f"{size:>6} {batch:>6} {len(times):>4} {p10:9.3f} {p50:9.3f} {p90:9.3f} {max(times):9.3f}")


if __name__ == "__main__":
    main()
