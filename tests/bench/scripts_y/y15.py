"""Embedding lookup over a stream of token batches."""
import torch
import torch_npu
import argparse

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--vocabulary", type=int, default=16000)
parser.add_argument("--dim", type=int, default=256)
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--length", type=int, default=256)
parser.add_argument("--samples", type=int, default=60)
args = parser.parse_args()


def token_batches(seed):
    generator = torch.Generator(device="npu").manual_seed(seed)
    while True:
        yield torch.randint(args.vocabulary, (args.batch, args.length), device="npu", generator=generator)


def lookups(table, batches):
    for tokens in batches:
        yield torch.nn.functional.embedding(tokens, table)


torch.manual_seed(12)
table = torch.randn(args.vocabulary, args.dim, dtype=torch.float16).npu()
tokens = next(token_batches(0))
torch.testing.assert_close(torch.nn.functional.embedding(tokens, table).cpu(), table.cpu()[tokens.cpu()])

results = lookups(table, token_batches(1))
for _ in range(10):
    next(results)
torch.npu.synchronize()

pairs = []
for _ in range(args.samples):
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    rows = next(results)
    end.record()
    pairs.append((start, end))
torch.npu.synchronize()

us = np.array([start.elapsed_time(end) for start, end in pairs]) * 1e3
p10, p50, p90 = np.percentile(us, [10, 50, 90])
print(
    f"embedding operator, table {args.vocabulary} x {args.dim} float16, "
    f"indices {args.batch} x {args.length} int64, result {tuple(rows.shape)}, table in the L2"
)
print(f"device time of the operator: P10 {p10:.2f} us, P50 {p50:.2f} us, P90 {p90:.2f} us ({us.size} samples, warmed up)")
