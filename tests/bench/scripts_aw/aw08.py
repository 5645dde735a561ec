"""torch.topk over a vocabulary, as the sampler calls it."""
from dataclasses import dataclass
from statistics import median

import torch
import torch_npu

SAMPLES = 20
CALLS = 10
ROWS = 8


@dataclass(frozen=True)
class TopK:
    rows: int
    vocabulary: int
    k: int
    dtype: str
    samples: int
    calls_in_a_sample: int
    fastest_us: float
    median_us: float
    slowest_us: float


def lead_in(block):
    # some work in front of the first event, so that the calls behind it are in the queue when it fires
    for _ in range(4):
        block.t().contiguous()


def sample(logits, k, block):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    lead_in(block)
    begin.record()
    for _ in range(CALLS):
        torch.topk(logits, k, dim=-1)
    end.record()
    torch.npu.synchronize()
    return begin.elapsed_time(end) / CALLS * 1000.0


def bench(vocabulary, k, block):
    logits = torch.randn(ROWS, vocabulary, device="npu", dtype=torch.float16)
    for _ in range(10):
        torch.topk(logits, k, dim=-1)
    lead_in(block)
    torch.npu.synchronize()
    laps = [sample(logits, k, block) for _ in range(SAMPLES)]
    return TopK(
        rows=ROWS,
        vocabulary=vocabulary,
        k=k,
        dtype=str(logits.dtype).removeprefix("torch."),
        samples=len(laps),
        calls_in_a_sample=CALLS,
        fastest_us=round(min(laps), 2),
        median_us=round(median(laps), 2),
        slowest_us=round(max(laps), 2),
    )


def main():
    block = torch.randn(1024, 1024, device="npu")
    print("# device time between two events, us a call; the logits are the same in each call (L2 warm)")
    for vocabulary in (8192, 32768):
        for k in (1, 50):
            print(bench(vocabulary, k, block))


if __name__ == "__main__":
    main()
