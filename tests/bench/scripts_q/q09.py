"""How many table rows a second does index_select deliver? 4096 rows a call, three widths, by labkit.bench, empty L2."""
import torch
import torch_npu  # noqa: F401

from labkit import bench

TABLE, ROWS, SETS = 16384, 4096, 3
WIDTHS = (64, 256, 512)


def index_sets():
    """The host's copies of the indices and the device's."""
    torch.manual_seed(0)
    host = [torch.randint(0, TABLE, (ROWS,)) for _ in range(SETS)]
    return host, [indices.npu() for indices in host]


def measure(width):
    host_ids, ids = index_sets()
    host = torch.rand(TABLE, width)
    table = host.npu()
    probe, *rest = ids
    assert torch.equal(table.index_select(0, probe).cpu(), host[host_ids[0]]), "index_select delivers other rows"

    def lookups():
        for indices in rest:
            table.index_select(0, indices)

    taken = bench.measure(lookups, name=f"width {width}", cache="cold", least=30, most=30)
    return [value / SETS for value in (taken.median.value, taken.median.low, taken.median.high, taken.std)]


rates = {}
for width in WIDTHS:
    us, low, high, std = measure(width)
    rates[width] = ROWS / us
    print(f"width {width:4}: {us:6.1f} us a call (95 % between {low:.1f} and {high:.1f}, standard deviation {std:.2f}), "
          f"{rates[width]:6.1f} million rows/s")
print(f"with an empty L2, {ROWS} of {TABLE} float32 rows a call: "
      + ", ".join(f"{rate:.0f} million rows/s at width {width}" for width, rate in rates.items()))
