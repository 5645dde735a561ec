"""Top-k routing of the mixture-of-experts layer: time of one routing decision, by number of tokens."""
import time
from contextlib import contextmanager
from typing import Callable

import numpy as np
import torch
import torch_npu


class Stopwatch:
    """Samples of a block, in microseconds a call. The node is shared, so the reading is our process's own."""

    def __init__(self, calls: int, read: Callable[[], int] = time.process_time_ns):
        self.calls, self.read, self.us = calls, read, []

    @contextmanager
    def sample(self):
        torch.npu.synchronize()
        begin = self.read()
        yield
        torch.npu.synchronize()
        self.us.append((self.read() - begin) / 1e3 / self.calls)

    def __str__(self):
        p10, p50, p90 = np.percentile(self.us, (10, 50, 90))
        return f"{p50:9.2f} us a call  (p10 {p10:.2f}, p90 {p90:.2f}, n={len(self.us)} samples of {self.calls} calls)"


class Router:
    def __init__(self, width: int, experts: int, chosen: int):
        self.weight = torch.randn(width, experts, device="npu") / width ** 0.5
        self.chosen = chosen

    def __call__(self, tokens):
        gates = torch.softmax(tokens @ self.weight, dim=-1)
        value, index = torch.topk(gates, self.chosen, dim=-1)
        return value / value.sum(-1, keepdim=True), index


def main():
    torch.manual_seed(5)
    router = Router(width=256, experts=32, chosen=4)
    print("routing of tokens (width 256, 32 experts, 4 chosen), float32, tokens re-used (L2 warm)")
    for count in (64, 256, 1024):
        tokens = torch.randn(count, 256, device="npu")
        for _ in range(20):
            router(tokens)
        watch = Stopwatch(calls=20)
        for _ in range(15):
            with watch.sample():
                for _ in range(watch.calls):
                    weights, index = router(tokens)
        assert weights.shape == index.shape == (count, 4)
        print(f"  {count:>5} tokens {watch}")


if __name__ == "__main__":
    main()
