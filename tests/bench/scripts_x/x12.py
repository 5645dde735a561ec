import torch
import torch_npu
import time

import numpy as np


class Service:
    """Answers requests: rows in host memory in, scores in host memory out."""

    def __init__(self, features, classes):
        generator = torch.Generator().manual_seed(0)
        self.host_weight = torch.randn(features, classes, generator=generator) / features**0.5
        self.weight = self.host_weight.npu()

    def answer(self, rows):
        on_device = torch.from_numpy(rows).npu()
        scores = torch.softmax(on_device @ self.weight, dim=-1)
        return scores.cpu().numpy()

    def expected(self, rows):
        return torch.softmax(torch.from_numpy(rows) @ self.host_weight, dim=-1).numpy()


def requests(batch, features, count):
    random = np.random.default_rng(batch)
    return [random.standard_normal((batch, features), dtype=np.float32) for _ in range(count)]


def main():
    features, classes, count = 512, 256, 25
    service = Service(features, classes)
    print("End-to-end latency of a request: from the caller's NumPy array to the answer in host memory,")
    print("so upload, two operators, and download are all inside. One request at a time.")
    for batch in (1, 16, 128):
        for rows in requests(batch, features, 10):
            np.testing.assert_allclose(service.answer(rows), service.expected(rows), rtol=1e-3, atol=1e-5)
        runs = []
        for _ in range(3):
            latencies = []
            for rows in requests(batch, features, count):
                begin = time.perf_counter()
                service.answer(rows)
                latencies.append((time.perf_counter() - begin) * 1e6)
            runs.append(latencies)
        p50, p90, p99 = np.percentile(runs, [50, 90, 99])
        print(f"  batch {batch} x {features} float32: P50 {p50:.0f} us, P90 {p90:.0f} us, P99 {p99:.0f} us; medians of three "
              f"runs of {count}: {', '.join(f'{np.median(run):.0f}' for run in runs)} us")


if __name__ == "__main__":
    main()
