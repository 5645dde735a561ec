"""Token embedding look-up, records per configuration: what a decode step has to expect from F.embedding."""
import statistics
import time
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
import torch_npu


@dataclass
class Config:
    vocab: int
    width: int
    tokens: int
    dtype: torch.dtype = torch.float16


@dataclass
class Record:
    config: Config
    us: list = field(default_factory=list)

    @property
    def row(self):
        cuts = statistics.quantiles(self.us, n=10, method="inclusive")
        return (f"{self.config.vocab:>7} {self.config.width:>6} {self.config.tokens:>7} {statistics.fmean(self.us):9.2f} "
                f"{statistics.stdev(self.us):8.2f} {cuts[4]:9.2f} {cuts[8]:9.2f} {max(self.us):9.2f}")


CONFIGS = [
    Config(8000, 256, 1),
    Config(8000, 1024, 32),
    Config(32000, 1024, 256),
    Config(32000, 2048, 2048),
]
REPEATS = 30


def run(config):
    generator = torch.Generator().manual_seed(3)
    weight = torch.randn(config.vocab, config.width, generator=generator).to(config.dtype).to("npu")
    batches = [
        torch.randint(config.vocab, (config.tokens,), generator=generator).to("npu") for _ in range(REPEATS)
    ]
    torch.npu.synchronize()

    record = Record(config)
    for ids in batches:
        begin = time.perf_counter_ns()
        found = F.embedding(ids, weight)
        torch.npu.synchronize()
        record.us.append((time.perf_counter_ns() - begin) / 1e3)

    assert torch.equal(found.cpu(), weight.cpu()[batches[-1].cpu()])
    return record


print(f"F.embedding, fp16: steady-state cost of one look-up in us (call until finished), {REPEATS} batches of ids each;")
print("ids are new in every batch, the table is as warm as the batches before have left it")
print(f"{'vocab':>7} {'width':>6} {'tokens':>7} {'mean':>9} {'stdev':>8} {'p50':>9} {'p90':>9} {'max':>9}")
for config in CONFIGS:
    print(run(config).row)
