"""Embedding lookup: rows per second for a few vocabularies (events, float16)."""
import statistics

import torch
import torch.nn.functional as F
import torch_npu

WARMUP = 10
ITERS = 40
RUNS = 7


class Stopwatch:
    def __init__(self):
        self.begin = torch.npu.Event(enable_timing=True)
        self.end = torch.npu.Event(enable_timing=True)

    def __enter__(self):
        torch.npu.synchronize()
        self.begin.record()
        return self

    def __exit__(self, *exc):
        self.end.record()
        self.end.synchronize()
        self.ms = self.begin.elapsed_time(self.end)


def lookup_us(table, ids):
    count = 0
    watch = Stopwatch()
    while count < WARMUP:
        F.embedding(ids, table)
        count += 1
    with watch:
        while count < WARMUP + ITERS:
            F.embedding(ids, table)
            count += 1
    return watch.ms * 1e3 / count


def main():
    torch.set_num_threads(1)
    rows = []
    for vocab, dim, tokens in ((1000, 128, 512), (8000, 256, 1024), (32000, 256, 4096)):
        table = torch.randn(vocab, dim, dtype=torch.float16, device="npu")
        ids = torch.randint(0, vocab, (tokens,), generator=torch.Generator().manual_seed(0)).npu()
        us = [lookup_us(table, ids) for _ in range(RUNS)]
        mid = statistics.median(us)
        rows.append((vocab, dim, tokens, mid, min(us), max(us), tokens / mid))

    head = ("vocab", "dim", "tokens", "us/lookup", "min", "max", "Mrows/s")
    print(f"same ids each call, median of {RUNS} runs x {ITERS} lookups")
    print("+" + "+".join("-" * 11 for _ in head) + "+")
    print("|" + "|".join(f"{h:^11}" for h in head) + "|")
    print("+" + "+".join("-" * 11 for _ in head) + "+")
    for vocab, dim, tokens, mid, low, high, rate in rows:
        print(f"|{vocab:>10} |{dim:>10} |{tokens:>10} |{mid:>10.2f} |{low:>10.2f} |{high:>10.2f} |{rate:>10.1f} |")
    print("+" + "+".join("-" * 11 for _ in head) + "+")


if __name__ == "__main__":
    main()
