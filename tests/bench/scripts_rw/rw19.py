import time

import torch
import torch_npu

torch.set_num_threads(1)


class TopK:
    rows, cols, burst, rounds = 32, 1024, 8, 21

    def __init__(self):
        torch.manual_seed(14)
        self.logits = torch.randn(self.rows, self.cols, device="npu")
        self.lines = []

    def topk(self, k):
        return self.logits.topk(k, dim=-1).values

    def sort(self, k):
        return self.logits.sort(dim=-1, descending=True).values[:, :k]

    def burst_us(self, fn, k):
        torch.npu.synchronize()
        t = time.perf_counter()
        for _ in range(self.burst):
            fn(k)
        torch.npu.synchronize()
        return (time.perf_counter() - t) * 1e6

    def measure(self, fn, k):
        self.burst_us(fn, k)
        self.burst_us(fn, k)
        us = torch.tensor([self.burst_us(fn, k) for _ in range(self.rounds)], dtype=torch.float64)
        self.lines.append((fn.__name__, k, us.median().item(), us.median().item() / self.burst, us.min().item(), us.max().item()))

    def run(self):
        for k in (1, 8, 64):
            assert torch.equal(self.topk(k), self.sort(k))
            for fn in (self.topk, self.sort):
                self.measure(fn, k)
        return self

    def show(self):
        print(f"{self.rows}x{self.cols} f32, last dim, input stays in L2, host clock, n={self.rounds}, sample={self.burst} calls+1 sync (sync is in it)")
        print("op     k   med_sample_us  per_call_us  min_sample  max_sample")
        for op, k, med, call, lo, hi in self.lines:
            print(f"{op:5} {k:3} {med:14.1f} {call:12.1f} {lo:11.1f} {hi:11.1f}")
        print("per_call = med_sample / calls (wait shared); sort orders all columns, topk k of them")


TopK().run().show()
