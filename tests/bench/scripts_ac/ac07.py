"""Elementwise chain on a stream of its own, beside the default stream of the application."""
import csv
import statistics
import sys
import time

import torch
import torch_npu  # noqa: F401

REPEAT, SAMPLES = 10, 15


class SideRunner:
    def __init__(self, device="npu:0"):
        self.device = torch.device(device)
        self.side = torch.npu.Stream(device=self.device)

    def submit(self, work, count):
        self.side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(self.side):
            for _ in range(count):
                work()

    def timed(self, work, count):
        torch.npu.synchronize(self.device)
        begin = time.perf_counter()
        self.submit(work, count)
        torch.npu.current_stream().synchronize()
        return (time.perf_counter() - begin) * 1e6 / count


def chain(x, y, out):
    torch.mul(x, y, out=out)
    torch.sub(out, y, out=out)


def main():
    torch.manual_seed(2)
    runner = SideRunner()
    writer = csv.writer(sys.stdout)
    writer.writerow("rows cols median_us q1_us q3_us min_us max_us samples calls_per_sample".split())
    for rows, cols in ((1024, 1024), (1024, 2048), (2048, 2048)):
        x, y = (torch.randn(rows, cols, device="npu") for _ in range(2))
        out = torch.empty_like(x)

        def work():
            chain(x, y, out)

        runner.submit(work, 10)
        torch.npu.synchronize()
        us = [runner.timed(work, REPEAT) for _ in range(SAMPLES)]
        torch.npu.synchronize()
        q1, mid, q3 = statistics.quantiles(us, n=4)
        writer.writerow([rows, cols, *(f"{v:.2f}" for v in (mid, q1, q3, min(us), max(us))), len(us), REPEAT])


if __name__ == "__main__":
    main()
