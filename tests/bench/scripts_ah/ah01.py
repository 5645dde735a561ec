"""How long does index_select take?  Usage: ah01.py [--rows N] [--width W] [--pick P] [--samples S]"""
import argparse

import numpy as np
import torch
import torch_npu


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rows", type=int, default=8192)
    p.add_argument("--width", type=int, default=256)
    p.add_argument("--pick", type=int, default=2048)
    p.add_argument("--samples", type=int, default=200)
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


def sample(table, pick):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    begin.record()
    ids = torch.randint(0, table.shape[0], (pick,)).npu()
    picked = torch.index_select(table, 0, ids)
    end.record()
    return begin, end, ids, picked


def main():
    args = parse()
    torch.manual_seed(args.seed)
    host_table = torch.randn(args.rows, args.width)
    table = host_table.npu()

    for _ in range(20):
        _, _, ids, picked = sample(table, args.pick)
    assert torch.equal(picked.cpu(), host_table[ids.cpu()]), "wrong rows"

    torch.npu.synchronize()
    pairs = [sample(table, args.pick)[:2] for _ in range(args.samples)]
    torch.npu.synchronize()
    us = np.array([1e3 * b.elapsed_time(e) for b, e in pairs])

    p10, p50, p90 = np.percentile(us, [10, 50, 90])
    print(f"operator      index_select, dim 0, float32, new ids for each sample")
    print(f"table         {args.rows} x {args.width}, {args.pick} rows picked, table stays in the L2")
    print(f"kernel time   P10 {p10:.2f}  P50 {p50:.2f}  P90 {p90:.2f} us over {len(us)} calls, slowest {us.max():.2f} us")


if __name__ == "__main__":
    main()
