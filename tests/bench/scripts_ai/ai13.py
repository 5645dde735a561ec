"""Embedding with its backward: three stamps a sample, one record for each phase."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
import torch_npu


@dataclass(frozen=True)
class Key:
    vocabulary: int
    width: int
    tokens: int
    phase: str


@dataclass
class Record:
    key: Key
    us: torch.Tensor

    def __str__(self):
        low, mid, high = torch.quantile(self.us, torch.tensor([0.1, 0.5, 0.9], dtype=self.us.dtype)).tolist()
        k = self.key
        return f"{k.vocabulary:6} x {k.width:<4} {k.tokens:5} ids  {k.phase:8} {mid:8.2f} us   [{low:.2f}, {high:.2f}]   max {self.us.max():.2f}   n {len(self.us)}"


@dataclass
class Problem:
    vocabulary: int
    width: int
    tokens: int
    lists: int = 8

    def __post_init__(self):
        gen = torch.Generator().manual_seed(self.vocabulary)
        self.weight = torch.randn(self.vocabulary, self.width, generator=gen)
        self.upstream = torch.randn(self.tokens, self.width, generator=gen)
        self.ids = [torch.randint(self.vocabulary, (self.tokens,), generator=gen) for _ in range(self.lists)]
        self.d_weight = self.weight.npu().requires_grad_()
        self.d_upstream = self.upstream.npu()
        self.d_ids = [i.npu() for i in self.ids]

    def sample(self, i):
        stamps = [torch.npu.Event(enable_timing=True) for _ in range(3)]
        stamps[0].record()
        rows = F.embedding(self.d_ids[i % self.lists], self.d_weight)
        stamps[1].record()
        gradient, = torch.autograd.grad(rows, self.d_weight, self.d_upstream)
        stamps[2].record()
        return stamps, rows, gradient

    def verify(self):
        for i in range(self.lists):
            _, rows, gradient = self.sample(i)
            want = torch.zeros_like(self.weight).index_add_(0, self.ids[i], self.upstream)
            assert torch.equal(rows.detach().cpu(), self.weight[self.ids[i]])
            torch.testing.assert_close(gradient.cpu(), want, rtol=1e-4, atol=1e-4)

    def records(self, samples=110, discard=10):
        stamps = [self.sample(i)[0] for i in range(samples + discard)][discard:]
        torch.npu.synchronize()
        for phase, (a, b) in dict(forward=(0, 1), backward=(1, 2), both=(0, 2)).items():
            us = torch.tensor([1e3 * s[a].elapsed_time(s[b]) for s in stamps], dtype=torch.float64)
            yield Record(Key(self.vocabulary, self.width, self.tokens, phase), us)


print("embedding, float32; 8 lists of random ids in rotation, table and gradient hot in the L2; events on the stream")
print("backward: the dense gradient of the table from a given gradient of the rows; no optimizer. [P10, P90]")
for problem in (Problem(2000, 64, 512), Problem(4000, 64, 1024), Problem(2000, 128, 2048)):
    problem.verify()
    print(*problem.records(), sep="\n")
