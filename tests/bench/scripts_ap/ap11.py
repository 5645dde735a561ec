# Writes a markdown report: host-to-device copies, pinned against pageable memory.
import time

import numpy as np
import torch
import torch_npu

KB, MB = 1 << 10, 1 << 20
SIZES = [64 * KB, 512 * KB, 2 * MB, 8 * MB]
SAMPLES, BUFFERS = 60, 6


def label(n):
    return f"{n // MB} MB" if n >= MB else f"{n // KB} KB"


def copy_once(dst, src, non_blocking):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    dst.copy_(src, non_blocking=non_blocking)
    torch.npu.synchronize()
    return time.perf_counter() - t0


def run(nbytes):
    pageable = [torch.randint(0, 256, (nbytes,), dtype=torch.uint8) for _ in range(BUFFERS)]
    pinned = [p.clone().pin_memory() for p in pageable]
    dst = torch.empty(nbytes, dtype=torch.uint8, device="npu")
    kinds = [("pageable", pageable, False), ("pinned", pinned, True)]
    for _, sources, nb in kinds:
        for src in sources:
            copy_once(dst, src, nb)
            assert torch.equal(dst.cpu(), src)
    seconds = {"pageable": [], "pinned": []}
    for i in range(SAMPLES):
        for name, sources, nb in (kinds if i % 2 == 0 else kinds[::-1]):
            seconds[name].append(copy_once(dst, sources[i % BUFFERS], nb))
    return {name: np.array(s) for name, s in seconds.items()}


lines = [
    "## Copying to the device",
    "",
    f"One `dst.copy_(src)` into a tensor that exists already, from the call until the device is idle. {SAMPLES} copies of "
    f"each kind, alternating which goes first; {BUFFERS} source buffers in turn, touched before (so not first-touch cost; "
    "small ones may be in the CPU's cache). Pinned copies are issued with `non_blocking=True` and waited for.",
    "",
    "| size | memory | median us | p10 us | p90 us | GB/s at the median |",
    "|---:|---|---:|---:|---:|---:|",
]
for nbytes in SIZES:
    for name, s in run(nbytes).items():
        p10, p50, p90 = np.percentile(s, [10, 50, 90])
        lines.append(f"| {label(nbytes)} | {name} | {p50 * 1e6:.1f} | {p10 * 1e6:.1f} | {p90 * 1e6:.1f} | "
                     f"{nbytes / p50 / 1e9:.2f} |")
lines += ["", "GB = 10^9 bytes. Rows whose p10-p90 overlap are not to be called different."]
print("\n".join(lines))
