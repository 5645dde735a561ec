import torch
import torch_npu
import numpy as np


class SoftmaxWorker:
    """Runs softmax on a stream of its own, the way our serving workers do."""

    def __init__(self, rows, columns):
        self.stream = torch.npu.Stream()
        self.scores = torch.randn(rows, columns, dtype=torch.float16).npu()
        self.out = torch.empty_like(self.scores)
        self.stream.wait_stream(torch.npu.current_stream())

    def step(self):
        with torch.npu.stream(self.stream):
            torch.softmax(self.scores, dim=-1, out=self.out)

    def check(self):
        torch.npu.synchronize()
        expected = torch.softmax(self.scores.cpu().float(), dim=-1)
        torch.testing.assert_close(self.out.cpu().float(), expected, rtol=1e-2, atol=1e-3)


class EventBench:
    def __init__(self, warmup=10, samples=40):
        self.warmup = warmup
        self.samples = samples

    def run(self, step):
        for _ in range(self.warmup):
            step()
        torch.npu.synchronize()
        pairs = []
        for _ in range(self.samples):
            start = torch.npu.Event(enable_timing=True)
            end = torch.npu.Event(enable_timing=True)
            start.record()
            step()
            end.record()
            pairs.append((start, end))
        torch.npu.synchronize()
        return np.array([start.elapsed_time(end) * 1e3 for start, end in pairs])


def main():
    torch.manual_seed(0)
    rows, columns = 1024, 2048
    worker = SoftmaxWorker(rows, columns)
    times = EventBench().run(worker.step)
    worker.check()
    p10, p50, p90 = np.percentile(times, [10, 50, 90])
    print(f"softmax over the last dimension, {rows} x {columns}, float16, input in the L2")
    print(f"device time by events: P10 {p10:.2f} us, P50 {p50:.2f} us, P90 {p90:.2f} us, {times.size} samples")


if __name__ == "__main__":
    main()
