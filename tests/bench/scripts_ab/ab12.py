"""Classifier, end to end: frames in pinned host memory in, class numbers in host memory out.

The copies are what the camera box pays too, so they belong to the result; the copy of the next batch runs on a
stream of its own beside the forward pass of the current one.
"""
import threading
import time
from queue import Queue

import numpy as np
import torch
import torch_npu
from torch import nn

BATCHES, WINDOWS = 12, 12


class Pipeline:
    def __init__(self, frames):
        self.host = frames
        self.copies = torch.npu.Stream()
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(),
                                 nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)).npu().eval()

    def send(self, i):
        with torch.npu.stream(self.copies):
            x = self.host[i].to("npu", non_blocking=True)
            ready = torch.npu.Event()
            ready.record()
        return x, ready

    @torch.no_grad()
    def window(self, answers):
        coming = self.send(0)
        for i in range(len(self.host)):
            x, ready = coming
            if i + 1 < len(self.host):
                coming = self.send(i + 1)
            main = torch.npu.current_stream()
            main.wait_event(ready)
            x.record_stream(main)
            answers.put(self.net(x).argmax(1).cpu())       # the answer is on the host behind this line


def count(answers, total, done):
    seen = 0
    while seen < total:
        seen += len(answers.get())
    done.set()


for size in (4, 8, 16):
    torch.manual_seed(size)
    pipeline = Pipeline([torch.rand(size, 3, 32, 32).pin_memory() for _ in range(BATCHES)])
    rates = []
    for number in range(3 + WINDOWS):
        answers, done = Queue(), threading.Event()
        threading.Thread(target=count, args=(answers, BATCHES * size, done), daemon=True).start()
        begin = time.perf_counter()
        pipeline.window(answers)
        done.wait()
        seconds = time.perf_counter() - begin
        if number >= 3:                                    # three windows to warm up
            rates.append(BATCHES * size / seconds)
    p10, p50, p90 = np.percentile(rates, (10, 50, 90))
    print(f"batch {size:>2}, frames 3x32x32: {p50:8.0f} frames/s host to host, copies included "
          f"(p10 {p10:.0f}, p90 {p90:.0f}, n={len(rates)} windows of {BATCHES} batches)")
