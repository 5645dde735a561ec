import labkit
import statistics

import torch

MIB = 2**20
ROUNDS = 30
RING_BYTES = 512 * MIB  # sources and targets of one size together; the L2 holds 192 MB


def ring(mib):
    pairs = RING_BYTES // (2 * mib * MIB)
    return [(torch.randn(mib * MIB // 4, device="npu"), torch.empty(mib * MIB // 4, device="npu")) for _ in range(pairs)]


def cold_copies(mib):
    pairs = ring(mib)
    for source, target in pairs:          # warm-up: each buffer once
        target.copy_(source)
    torch.npu.synchronize()
    events = []
    for i in range(ROUNDS):
        source, target = pairs[i % len(pairs)]
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        a.record()
        target.copy_(source)
        b.record()
        events.append((a, b))
    torch.npu.synchronize()
    assert all(torch.equal(source, target) for source, target in pairs)
    return [a.elapsed_time(b) / 1e3 for a, b in events], len(pairs)


rows = []
for mib in (16, 32, 64):
    seconds, buffers = cold_copies(mib)
    q1, q2, q3 = statistics.quantiles(seconds, n=4)
    rate = 2 * mib * MIB / q2 / 1e9
    rows.append((mib, buffers, len(seconds), 1e6 * q1, 1e6 * q2, 1e6 * q3, rate))

print("## Copies inside the device memory\n")
print(f"`Tensor.copy_`, float32, contiguous, device to device, on {torch.npu.get_device_name(0)}.\n")
print("| MiB a copy | buffer pairs | n | Q1 us | median us | Q3 us | read + written, GB/s |")
print("|---:|---:|---:|---:|---:|---:|---:|")
for row in rows:
    print("| {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.0f} |".format(*row))
print("\n* Times are the device's, from events around a single copy; nothing was left out.")
print("* Pairs are used in turn, 512 MiB in all, so a source has left the L2 before it is read again.")
print("* Each byte counts twice in the rate: once read, once written (decimal GB).")
print(f"* Between 16 and 64 MiB the median rate lies between {min(r[-1] for r in rows):.0f} and {max(r[-1] for r in rows):.0f} GB/s. "
      "Smaller copies were not timed.")
