import statistics
import time
from dataclasses import dataclass, field

import torch
import torch_npu  # noqa: F401


@dataclass
class Bench:
    calls: int = 10
    laps: list = field(default_factory=list)

    def sample(self, fn, n):
        for _ in range(n):
            t = time.perf_counter_ns()
            for _ in range(self.calls):
                fn()
            torch.npu.synchronize()
            self.laps.append((time.perf_counter_ns() - t) / self.calls / 1e3)

    def summary(self):
        mid = statistics.median(self.laps)
        good = [v for v in self.laps if v < 1.05 * mid]  # 去掉抖动
        return f"mean {statistics.mean(good):.2f} us, sd {statistics.pstdev(good):.2f}, worst {max(good):.2f}"


for batch in (16, 128, 512):
    x = torch.ones(batch, 640, device="npu")
    y = torch.full((batch, 640), 2.0, device="npu")
    Bench().sample(lambda x=x, y=y: torch.maximum(x, y), 5)
    bench = Bench()
    bench.sample(lambda x=x, y=y: torch.maximum(x, y), 60)
    print(f"maximum fp32 [{batch}, 640], L2 warm: {bench.summary()}")
