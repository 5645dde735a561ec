"""Host to device: pageable against pinned source, the copy itself is the subject."""
import random

import numpy as np
import torch
import torch_npu  # noqa: F401

ROUNDS = 24
KIB = 1024


def copy_time(target, source):
    start, stop = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    target.copy_(source, non_blocking=True)
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3


def main():
    draw = random.Random(99)
    print("copy to the device, start to end on the stream, its issue included; order drawn anew in each round")
    for kib in (64, 512, 4096):
        page = torch.randint(0, 255, (kib * KIB,), dtype=torch.uint8)
        sources = {"pageable": page, "pinned": page.pin_memory()}
        target = torch.empty(kib * KIB, dtype=torch.uint8, device="npu")
        for source in list(sources.values()) * 3:
            copy_time(target, source)
        us = {name: [] for name in sources}
        for _ in range(ROUNDS):
            for name in draw.sample(list(sources), len(sources)):
                us[name].append(copy_time(target, sources[name]))
        arrays = {name: np.array(v) for name, v in us.items()}
        for name, v in arrays.items():
            q = np.percentile(v, [10, 50, 90])
            print(f"  {kib:5d} KiB {name:9s} P50 {q[1]:9.2f} us  P10 {q[0]:9.2f}  P90 {q[2]:9.2f}  "
                  f"{kib * KIB / q[1] / 1e3:6.2f} GB/s  n={v.size}")
        ratio = arrays["pageable"] / arrays["pinned"]
        low, high = np.percentile(ratio, [5, 95])
        print(f"        pageable / pinned, paired by round: {np.median(ratio):.2f}  (P5 {low:.2f}, P95 {high:.2f})")
        assert torch.equal(target.cpu(), page)


if __name__ == "__main__":
    main()
