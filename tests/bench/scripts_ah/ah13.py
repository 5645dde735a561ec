from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch
import torch_npu


@dataclass
class Record:
    rows: int
    cols: int
    k: int
    us: list[float] = field(default_factory=list)
    checked: bool = False

    @property
    def quartiles(self):
        return np.percentile(self.us, [25, 50, 75])

    def line(self):
        q1, q2, q3 = self.quartiles
        return (f"{self.rows:5} x {self.cols:<5} k={self.k:<3} {q2:9.2f} {q1:9.2f} {q3:9.2f} {max(self.us):9.2f} "
                f"{self.rows * self.cols / q2:12.0f} {'yes' if self.checked else 'NO':>7}")


@dataclass
class Settings:
    samples: int = 60
    calls: int = 10
    burn_in: int = 30


def measure(record: Record, settings: Settings, worker: torch.npu.Stream) -> Record:
    host = torch.randn(record.rows, record.cols)
    x = host.npu()
    worker.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(worker):
        for _ in range(settings.burn_in):
            values, _ = torch.topk(x, record.k)
    worker.synchronize()
    record.checked = torch.equal(values.cpu(), torch.topk(host, record.k).values)

    marks = []
    for _ in range(settings.samples):
        before, after = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        before.record()
        with torch.npu.stream(worker):
            for _ in range(settings.calls):
                torch.topk(x, record.k)
        after.record()
        marks.append((before, after))
    torch.npu.synchronize()
    record.us = [1e3 * a.elapsed_time(b) / settings.calls for a, b in marks]
    return record


def main():
    settings = Settings()
    worker = torch.npu.Stream()
    todo = [Record(64, 512, 8), Record(64, 1024, 8), Record(128, 1024, 32)]
    print(f"topk of rows, float32, hot L2; {settings.samples} samples, each the average of {settings.calls} calls, us a call by events")
    print(f"{'rows x cols':13} {'':5} {'median':>9} {'q1':>9} {'q3':>9} {'max':>9} {'elements/us':>12} {'checked':>7}")
    for record in todo:
        print(measure(record, settings, worker).line())


if __name__ == "__main__":
    main()
