import time
import statistics
from dataclasses import dataclass, field
import numpy as np
import torch
import torch_npu

@dataclass
class Bench:
    shape: tuple
    us: list = field(default_factory=list)

    def __post_init__(self):
        self.data = np.ones(self.shape, dtype=np.float32)

    def call(self):
        return torch.relu(torch.from_numpy(self.data).to("npu"))

    def run(self):
        for _ in range(4):
            self.call()
        for _ in range(20):
            torch.npu.synchronize()
            t = time.perf_counter()
            for _ in range(5):
                self.call()
            torch.npu.synchronize()
            self.us.append((time.perf_counter() - t) / 5 * 1e6)
        return self

for shape in ((64, 64), (1024, 1024)):
    us = Bench(shape).run().us
    print("relu", shape, "median", round(statistics.median(us), 1), "us; stdev", round(statistics.stdev(us), 2))
