"""Lookup in an embedding table that does not fit into the L2, each row asked for at most once."""
import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rows", type=int, default=1 << 19)
parser.add_argument("--width", type=int, default=128)
parser.add_argument("--tokens", type=int, nargs="+", default=[512, 2048, 4096])
parser.add_argument("--samples", type=int, default=40)
parser.add_argument("--warmup", type=int, default=6)
parser.add_argument("--l2-mib", type=int, default=192)
parser.add_argument("--seed", type=int, default=3)
options, _ = parser.parse_known_args()

torch.manual_seed(options.seed)
need = sum(options.tokens) * (options.samples + options.warmup)
if need > options.rows:
    parser.error(f"{need} rows would be asked for, the table has {options.rows}")

table = torch.rand(options.rows, options.width, device="npu")
order = torch.randperm(options.rows).to("npu")
scratch = torch.empty((options.l2_mib + 16) << 18, device="npu")

size = table.numel() * table.element_size() / 2**20
print(f"F.embedding, float32, table {options.rows} x {options.width} ({size:.0f} MiB, L2 {options.l2_mib} MiB).")
print("Each sample looks up rows that no earlier one did, and the L2 is flushed before each token count: the rows come")
print("from device memory. us from issue to completion of one lookup.")

position = 0
for tokens in options.tokens:
    batches = []
    for _ in range(options.warmup + options.samples):
        batches.append(order[position : position + tokens].clone())
        position += tokens
    assert torch.equal(F.embedding(batches[0], table), table[batches[0]])
    scratch.zero_()
    for index in batches[: options.warmup]:
        F.embedding(index, table)
    us = []
    for index in batches[options.warmup :]:
        torch.npu.synchronize()
        t0 = time.perf_counter()
        F.embedding(index, table)
        torch.npu.synchronize()
        us.append((time.perf_counter() - t0) * 1e6)
    q1, q2, q3 = np.percentile(us, [25, 50, 75])
    print(f"  {tokens:5d} tokens: median {q2:8.2f} us, quartiles {q1:.2f} .. {q3:.2f}, min {min(us):.2f}, max {max(us):.2f}, n = {len(us)}")
