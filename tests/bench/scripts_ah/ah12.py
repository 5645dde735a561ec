"""cross_entropy against the vocabulary, without and with backward."""
import time

import torch
import torch.nn.functional as F
import torch_npu


class Watch:
    """A stop watch that reads only when the device has nothing left to do."""

    def __init__(self, ticks=time.perf_counter_ns):
        self.ticks, self.began = ticks, None

    def read(self):
        torch.npu.synchronize()
        return self.ticks()

    def __enter__(self):
        self.began = self.read()
        return self

    def __exit__(self, *_):
        self.us = (self.read() - self.began) / 1000


class Subject:
    def __init__(self, rows, vocabulary, train):
        self.train, gen = train, torch.Generator().manual_seed(rows * vocabulary)
        self.label = f"{rows:4} x {vocabulary:<6} {'forward+backward' if train else 'forward':16}"
        logits = torch.randn(rows, vocabulary, generator=gen)
        target = torch.randint(vocabulary, (rows,), generator=gen)
        self.host = logits.clone().requires_grad_(train), target
        self.logits, self.target = logits.npu().requires_grad_(train), target.npu()
        self.us_a_call = []

    def work(self):
        loss = F.cross_entropy(self.logits, self.target)
        if self.train:
            self.gradient, = torch.autograd.grad(loss, self.logits)
        return loss

    def verify(self):
        logits, target = self.host
        want = F.cross_entropy(logits, target)
        assert abs(self.work().item() - want.item()) < 1e-4 * (1 + abs(want.item()))
        if self.train:
            torch.testing.assert_close(self.gradient.cpu(), torch.autograd.grad(want, logits)[0], rtol=1e-3, atol=1e-7)

    def burst(self, calls):
        with Watch() as watch:
            for _ in range(calls):
                self.work()
        self.us_a_call.append(watch.us / calls)

    def report(self):
        s, n = sorted(self.us_a_call), len(self.us_a_call)
        return f"{self.label} {s[n // 2]:9.1f} {s[0]:9.1f} {s[-1]:9.1f} {n:6}"


class Bench:
    def __init__(self, *subjects, bursts=21, calls=10):
        self.subjects, self.bursts, self.calls = subjects, bursts, calls

    def run(self):
        for s in self.subjects:
            s.verify()
            for _ in range(4):
                s.burst(self.calls)
            s.us_a_call.clear()
        for _ in range(self.bursts):
            for s in self.subjects:
                s.burst(self.calls)
        print(f"cross_entropy, mean over the rows, float32 logits, same logits again (hot); bursts of {self.calls} calls, one wait behind each")
        print(f"{'rows x vocabulary':30} {'median us':>9} {'min':>9} {'max':>9} {'bursts':>6}   (us a call, average within a burst)")
        for s in self.subjects:
            print(s.report())


Bench(*(Subject(r, v, t) for r, v in ((64, 500), (64, 2000), (128, 1000)) for t in (False, True))).run()
