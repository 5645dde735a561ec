"""End-to-end feeding rate: decode in the training thread, or one thread ahead."""
import queue
import random
import threading
import time

import numpy as np
import torch
import torch.nn as nn
import torch_npu

SAMPLES, EPOCHS, WARM = 384, 12, 2


def decode(raw):
    x = raw.astype(np.float32) / 255.0
    x = (x - x.mean(axis=(1, 2), keepdims=True)) / (x.std(axis=(1, 2), keepdims=True) + 1e-5)
    return torch.from_numpy(x.reshape(len(raw), -1))


def inline(raws):
    for r in raws:
        yield decode(r)


def ahead(raws, depth=2):
    q = queue.Queue(depth)

    def fill():
        for r in raws:
            q.put(decode(r))
        q.put(None)
    (t := threading.Thread(target=fill, daemon=True)).start()
    while (x := q.get()) is not None:
        yield x
    t.join()


@torch.no_grad()
def epoch(feed, raws, model):
    total = torch.zeros((), device="npu")
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for x in feed(raws):
        total += model(x.to("npu")).sum()
    torch.npu.synchronize()
    return SAMPLES / (time.perf_counter() - t0), total.item()


def main():
    model = nn.Sequential(nn.Linear(64 * 64, 256), nn.ReLU(), nn.Linear(256, 10)).to("npu").eval()
    rng = np.random.default_rng(0)
    data = rng.integers(0, 256, (SAMPLES, 64, 64), dtype=np.uint8)
    print("samples/s over a whole epoch: decode + upload + forward + final wait, thread start included")
    for batch in (16, 64):
        raws = np.split(data, SAMPLES // batch)
        rates, sums = {inline: [], ahead: []}, set()
        for e in range(WARM + EPOCHS):
            for feed in random.sample(list(rates), 2):
                rate, s = epoch(feed, raws, model)
                sums.add(round(s, 1))
                if e >= WARM:
                    rates[feed].append(rate)
        assert max(sums) - min(sums) < 1.0
        for feed, r in rates.items():
            print(f"  batch {batch:3d} {feed.__name__:7s} median {np.median(r):8.0f}  min {min(r):8.0f}  max {max(r):8.0f}  ({EPOCHS} epochs)")


if __name__ == "__main__":
    main()
