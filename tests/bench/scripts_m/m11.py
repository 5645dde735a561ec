import time
from contextlib import contextmanager

import torch
import torch_npu  # noqa: F401

# What a caller of our service waits for: copy in, two layers, copy out. So the copies and the wait belong in the time.


class Latency(list):
    @contextmanager
    def request(self):
        start = time.perf_counter_ns()
        yield
        self.append((time.perf_counter_ns() - start) / 1e3)

    def at(self, percent):
        return sorted(self)[min(len(self) - 1, len(self) * percent // 100)]


w1 = torch.full((256, 512), 0.125, device="npu")
w2 = torch.full((512, 64), 0.125, device="npu")


def serve(batch):
    return (torch.relu(batch.to("npu") @ w1) @ w2).cpu()  # .cpu() waits for the device


for users in (1, 8, 64):
    batch = torch.ones(users, 256)
    for _ in range(20):
        serve(batch)
    log = Latency()
    for _ in range(200):
        with log.request():
            serve(batch)
    print(f"end-to-end latency incl. H2D and D2H, batch {users} x 256 fp32, {len(log)} requests one after another:")
    print(f"  P50 {log.at(50):.1f}  P90 {log.at(90):.1f}  P99 {log.at(99):.1f} us")
