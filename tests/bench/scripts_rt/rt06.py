import contextlib
import time
import torch
import torch_npu

COPIES, BLOCKS = 16, 50


@contextlib.contextmanager
def issuing(into, drained):
    """Host time of the body only. The device is idle at entry; the drain afterwards is put into another list."""
    torch.npu.synchronize()
    t0 = time.perf_counter_ns()
    yield
    t1 = time.perf_counter_ns()
    torch.npu.synchronize()
    into.append((t1 - t0) / COPIES)
    drained.append(time.perf_counter_ns() - t1)


def prepare(kib):
    gen = torch.Generator().manual_seed(kib)
    src = [torch.randn(kib * 256, generator=gen).pin_memory() for _ in range(COPIES)]
    dst = [torch.empty(kib * 256, device="npu") for _ in range(COPIES)]
    return list(zip(dst, src))


def issue(pairs):
    for d, s in pairs:
        d.copy_(s, non_blocking=True)


sizes = (4, 64, 512)
work = {kib: prepare(kib) for kib in sizes}
issued = {kib: [] for kib in sizes}
rest = {kib: [] for kib in sizes}
for pairs in work.values():          # first copies, outside of the figures; and do the bytes arrive?
    issue(pairs)
    torch.npu.synchronize()
    assert all(torch.equal(d.cpu(), s) for d, s in pairs)
    for d, _ in pairs:
        d.fill_(-1)
    issue(pairs)

for block in range(BLOCKS):
    for kib in (sizes if block % 2 else sizes[::-1]):
        with issuing(issued[kib], rest[kib]):
            issue(work[kib])
for pairs in work.values():
    assert all(torch.equal(d.cpu(), s) for d, s in pairs)

print("What the HOST spends to enqueue one pinned, non-blocking copy to the device (the copy itself is NOT in this figure)")
print(f"{BLOCKS} blocks per size of {COPIES} copies, ns per copy = block / {COPIES}, queue empty when a block begins; two blocks before the first are not shown")
print(f"{'payload':>8} | {'median':>9} | {'lower q.':>9} | {'upper q.':>9} | {'worst block':>11} | wait for the block afterwards, median")
for kib in sizes:
    v, w = sorted(issued[kib]), sorted(rest[kib])
    n = len(v)
    print(f"{kib:5d}KiB | {v[n // 2]:6.0f} ns | {v[n // 4]:6.0f} ns | {v[3 * n // 4]:6.0f} ns | {v[-1]:8.0f} ns | {w[n // 2] / 1e3:.1f} us")
print("No bandwidth can be read off this table. Pageable sources and a queue that is already full were not looked at.")
