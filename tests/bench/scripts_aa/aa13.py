import json
import statistics

import torch
import torch.nn.functional as F
import torch_npu


class Suite:
    def __init__(self):
        self.tasks = []

    def add(self, title, function):
        self.tasks.append((title, function))

    def run(self, warmup=8, samples=40):
        report = {}
        for title, function in self.tasks:
            for _ in range(warmup):
                function()
            events = [torch.npu.Event(enable_timing=True) for _ in range(samples + 1)]
            events[0].record()
            for event in events[1:]:
                function()
                event.record()
            torch.npu.synchronize()
            times = [1e3 * a.elapsed_time(b) for a, b in zip(events, events[1:])]
            q1, q2, q3 = statistics.quantiles(times, n=4)
            report[title] = {"median_us": round(q2, 2), "q1_us": round(q1, 2), "q3_us": round(q3, 2), "samples": samples}
        return report


def build():
    suite = Suite()
    for channels in (16, 64, 128):
        x = torch.randn(4, channels, 28, 28, device="npu")
        weight = torch.randn(channels, channels, 3, 3, device="npu")
        suite.add(f"conv2d 3x3, 4 x {channels} x 28 x 28, float32", lambda: F.conv2d(x, weight, padding=1))
    return suite


if __name__ == "__main__":
    torch.manual_seed(2)
    print(json.dumps(build().run(), indent=2))
