"""Embedding lookups: how close do they come to the bandwidth of the card's memory?

Tables of three products of ours, batches of ids as they come. Measured with labkit.bench, which warms up by itself.
"""
import torch
import torch_npu  # noqa: F401

import labkit
from labkit import bench

TABLES = {  # name: (rows, width, ids in a batch)
    "words": (32_000, 512, 4_096),
    "items": (30_000, 768, 4_096),
    "users": (20_000, 1_024, 6_000),
}
TAKE = {"least": 40, "most": 40}


def lookup(name):
    rows, width, ids = TABLES[name]
    generator = torch.Generator().manual_seed(rows + width)
    table = torch.nn.Embedding(rows, width).npu().requires_grad_(False)
    batch = torch.randint(rows, (ids,), generator=generator).npu()

    def call():
        return table(batch)

    got, want = call().cpu(), table.weight.cpu()[batch.cpu()]
    assert torch.equal(got, want), name
    return call, 4 * width * ids


def main():
    torch.manual_seed(3)
    memory = labkit.chips.flat("910B1")["gm.hbm"] / 1e9
    results = []
    for name in TABLES:
        call, read = lookup(name)
        m = bench.measure(call, name=name, cache="warm", **TAKE)
        results.append((m, read))
    print(f"{'table':8} {'median us':>10} {'95 % between':>18} {'P99':>8} {'n':>4} {'GB/s of rows read':>19}")
    for m, read in results:
        mid = m.median
        rate = read / mid.value / 1e3
        print(f"{m.name:8} {mid.value:10.2f} {mid.low:8.2f} .. {mid.high:6.2f} {m.percentile(99).value:8.2f} "
              f"{len(m.samples):4} {rate:13,.0f}")
    name, rate = max(((m.name, read / m.median.value / 1e3) for m, read in results), key=lambda item: item[1])
    print(f"Rows come out of HBM at up to {rate:,.0f} GB/s ({name!r}), {rate / memory:.0%} of its {memory:,.0f} GB/s:")
    print("in production, where every batch asks for rows that nobody has touched yet, expect these times.")


if __name__ == "__main__":
    main()
