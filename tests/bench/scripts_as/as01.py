"""Feature assembly for the ranking model: what does the concat in front of the dense tower cost?"""
import argparse
import json
import statistics
import time

import torch
import torch_npu  # noqa: F401

WIDTHS = [16, 16, 32, 8, 64, 24, 32, 64]


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batch", type=int, default=512)
    ap.add_argument("--blocks", type=int, default=15)
    ap.add_argument("--calls", type=int, default=20)
    return ap.parse_args()


class Assembler:
    def __init__(self, batch, device):
        gen = torch.Generator().manual_seed(7)
        self.device = device
        self.columns = [torch.randn(batch, w, generator=gen) for w in WIDTHS]

    def features(self):
        return [c.to(self.device) for c in self.columns]

    def __call__(self):
        return torch.cat(self.features(), dim=1)


def block_us(fn, calls):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(calls):
        fn()
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / calls * 1e6


def main():
    args = parse()
    torch.set_num_threads(1)
    assemble = Assembler(args.batch, "npu")

    for _ in range(10):
        out = assemble()
    torch.npu.synchronize()
    assert out.shape == (args.batch, sum(WIDTHS))

    blocks = sorted(block_us(assemble, args.calls) for _ in range(args.blocks))
    quart = statistics.quantiles(blocks, n=4)
    report = {
        "op": "torch.cat",
        "device": torch.npu.get_device_name(),
        "inputs": [[args.batch, w] for w in WIDTHS],
        "dtype": "float32",
        "calls_per_block": args.calls,
        "blocks": args.blocks,
        "cat_us": {"median": round(statistics.median(blocks), 1),
                   "q1": round(quart[0], 1), "q3": round(quart[2], 1)},
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
