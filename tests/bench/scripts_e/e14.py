"""A tiny inference server: requests come from a queue, each answer is logged with its time stamps.

The summary gives the latency of a request (end to end, with both copies) by its length.
"""
import queue
import time
from collections import defaultdict

import numpy as np
import torch
import torch_npu


def stamp():
    """Milliseconds since the epoch, as in our access log."""
    return int(time.time() * 1000)


class Server:
    def __init__(self, width=256):
        self.model = torch.nn.Sequential(
            torch.nn.Linear(width, 512), torch.nn.ReLU(), torch.nn.Linear(512, width)
        ).npu().eval()
        self.log = []

    @torch.no_grad()
    def answer(self, features):
        return self.model(features.npu()).cpu()  # .cpu() waits for the result

    def serve(self, requests):
        while not requests.empty():
            features = requests.get()
            begin = stamp()
            self.answer(features)
            self.log.append({"length": len(features), "ms": stamp() - begin})


server = Server()
lengths = [1, 8, 64]
for length in lengths * 5:  # warm-up: every length
    server.answer(torch.ones(length, 256))

pending = queue.Queue()
for i in range(180):
    pending.put(torch.ones(lengths[i % 3], 256))
server.serve(pending)

by_length = defaultdict(list)
for entry in server.log:
    by_length[entry["length"]].append(entry["ms"])
for length, ms in sorted(by_length.items()):
    p50, p99 = np.percentile(ms, [50, 99])
    print(f"length {length:3d}: P50 {p50:.2f} ms, P99 {p99:.2f} ms, mean {np.mean(ms):.3f} ms over {len(ms)} requests")
