"""embedding lookups, timed on the device with events.

Every pass walks once through a random permutation of a 256 MB table, so that a row
is met again only after some 512 MB of other traffic (the L2 has 192 MB).
"""
import statistics
import torch
import torch_npu
import torch.nn.functional as F

ROWS, WIDTH = 131072, 512
PASSES = 5

torch.manual_seed(11)
weight = torch.rand(ROWS, WIDTH, device="npu")
lead = torch.zeros(4 * 2**20, device="npu")
perm = torch.randperm(ROWS)


def lookups(tokens):
    return [c.to("npu") for c in perm.split(tokens)]


def timed_pass(chunks, group):
    """us per lookup, for each group of consecutive launches between two events"""
    marks = [torch.npu.Event(enable_timing=True) for _ in range(len(chunks) // group + 1)]
    lead.add_(1.0)                                   # keeps the device busy while the first lookup is queued
    marks[0].record()
    for i, ids in enumerate(chunks):
        F.embedding(ids, weight)
        if (i + 1) % group == 0:
            marks[(i + 1) // group].record()
    torch.npu.synchronize()
    return [a.elapsed_time(b) * 1e3 / group for a, b in zip(marks, marks[1:])]


print("F.embedding, float32, table 131072 x 512, cold rows; device-side us per lookup")
print("(groups of back-to-back launches between events, gaps between launches included)")
for tokens, group in ((16384, 1), (8192, 2), (4096, 4)):
    chunks = lookups(tokens)
    first = F.embedding(chunks[0], weight)
    assert torch.equal(first[:64].cpu(), weight[perm[:64].to("npu")].cpu())
    timed_pass(chunks, group)                        # warm-up, not kept
    xs = []
    for _ in range(PASSES):
        xs += timed_pass(chunks, group)
    deciles = statistics.quantiles(xs, n=10)
    med = statistics.median(xs)
    print(f"{tokens:6d} tokens: median {med:7.2f} us, p10 {deciles[0]:7.2f}, p90 {deciles[-1]:7.2f}, "
          f"max {max(xs):7.2f} over {len(xs)} groups of {group}; "
          f"{tokens / med:.0f} rows per us")
