"""Embedding lookup: how much of the HBM bandwidth does it reach?"""
import argparse

import torch
import torch.nn.functional as F
import torch_npu


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--vocab", type=int, default=32768)
    p.add_argument("--dim", type=int, default=1024)
    p.add_argument("--tokens", type=int, nargs="+", default=[2048, 4096, 8192])
    p.add_argument("--iters", type=int, default=20)
    p.add_argument("--warmup", type=int, default=5)
    return p.parse_args()


def lookup_us(table, ids, iters, warmup):
    for _ in range(warmup):
        F.embedding(ids, table)
    torch.npu.synchronize()

    t0 = torch.npu.Event(enable_timing=True)
    t1 = torch.npu.Event(enable_timing=True)
    t0.record()
    for _ in range(iters):
        F.embedding(ids, table)
    t1.record()
    torch.npu.synchronize()
    return t0.elapsed_time(t1) * 1e3 / iters


def main():
    args = parse()
    torch.manual_seed(0)
    table = torch.randn(args.vocab, args.dim, dtype=torch.float16, device="npu")
    order = torch.randperm(args.vocab)

    print(f"table {args.vocab} x {args.dim} fp16, {table.numel() * 2 / 2**20:.0f} MiB, distinct random ids\n")
    print("| tokens | us per lookup | rows read, MiB | HBM read bandwidth, GB/s |")
    print("|-------:|--------------:|---------------:|-------------------------:|")
    best = 0.0
    for n in args.tokens:
        ids = order[:n].to("npu")
        us = lookup_us(table, ids, args.iters, args.warmup)
        nbytes = n * args.dim * table.element_size()
        rate = nbytes / us / 1e3
        best = max(best, rate)
        print(f"| {n} | {us:.2f} | {nbytes / 2**20:.0f} | {rate:.0f} |")
    print(f"\nLookups pull up to {best:.0f} GB/s of table rows out of HBM.")


if __name__ == "__main__":
    main()
