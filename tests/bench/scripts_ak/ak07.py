"""Copies to the device: pinned against pageable host memory, in pairs."""
import random
import time

import torch
import torch_npu  # noqa: F401

PAIRS = 40
feeder = torch.npu.Stream()


def timed_copy(source, target):
    torch.npu.synchronize()
    start = time.perf_counter()
    with torch.npu.stream(feeder):
        target.copy_(source, non_blocking=True)
    torch.npu.current_stream().synchronize()
    return time.perf_counter() - start


def quartiles(values):
    t = torch.tensor(values, dtype=torch.float64)
    return [t.quantile(q).item() for q in (0.25, 0.5, 0.75)]


def pair_up(kib):
    count = kib * 1024 // 4
    pageable = [torch.randn(count) for _ in range(4)]
    pinned = [p.clone().pin_memory() for p in pageable]
    target = torch.empty(count, device="npu")

    for source in pageable + pinned:
        timed_copy(source, target)

    times = {"pageable": [], "pinned": []}
    for i in range(PAIRS):
        both = [("pageable", pageable[i % 4]), ("pinned", pinned[i % 4])]
        random.shuffle(both)
        for name, source in both:
            times[name].append(timed_copy(source, target))
            torch.npu.synchronize()
            assert torch.equal(target.cpu(), source), name

    mid = {}
    for name, values in times.items():
        low, mid[name], high = quartiles(values)
        print(
            f"  {kib:6d} KiB {name:8s}: median {mid[name] * 1e6:8.1f} us (quartiles {low * 1e6:.1f} .. {high * 1e6:.1f}), "
            f"{kib * 1024 / mid[name] / 1e9:7.2f} GB/s"
        )
    gain = sorted(a / b for a, b in zip(times["pageable"], times["pinned"]))
    print(
        f"  {kib:6d} KiB: the copy from pinned memory is done {gain[len(gain) // 2]:.1f}x sooner "
        f"(median of {PAIRS} pairs, range {gain[0]:.1f} .. {gain[-1]:.1f})"
    )


random.seed(3)
print(f"Host to device, on a copy stream; {PAIRS} pairs, order drawn for each pair, contents compared after each copy")
for kib in (256, 1024, 4096, 16384):
    pair_up(kib)
