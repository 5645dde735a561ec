# Beam search reorders the KV cache with gather at each step. What does that cost?
import csv
import sys
import time

import torch
import torch_npu

BEAMS, HEADS, LENGTH, DIM = 8, 4, 128, 64
STEPS = 40
DTYPES = {"fp32": torch.float32, "fp16": torch.float16}

gen = torch.Generator().manual_seed(11)


def parents():
    """One choice of parents per decoding step, expanded to the shape of the cache."""
    made = []
    for _ in range(STEPS):
        pick = torch.randint(0, BEAMS, (BEAMS,), generator=gen)
        made.append(pick.to("npu").view(BEAMS, 1, 1, 1).expand(BEAMS, HEADS, LENGTH, DIM).contiguous())
    return made


def reorder(cache, steps):
    return map(lambda index: torch.gather(cache, 0, index), steps)


def drain(jobs):
    for _ in jobs:
        pass
    torch.npu.synchronize()


def bench(dtype):
    cache = torch.randn(BEAMS, HEADS, LENGTH, DIM, device="npu").to(dtype)
    jobs = reorder(cache, parents())
    drain(jobs)  # operators loaded, memory pool filled

    start = time.perf_counter()
    drain(jobs)
    took = time.perf_counter() - start

    payload = 2 * cache.numel() * cache.element_size() * STEPS
    return took, payload


def main():
    torch.set_num_threads(1)
    out = csv.writer(sys.stdout)
    out.writerow(["dtype", "beams", "heads", "length", "dim", "steps", "ms_all_steps", "us_per_gather", "GB_per_s"])
    for name, dtype in DTYPES.items():
        took, payload = bench(dtype)
        out.writerow([
            name, BEAMS, HEADS, LENGTH, DIM, STEPS,
            f"{took * 1e3:.4f}",
            f"{took / STEPS * 1e6:.4f}",
            f"{payload / took / 1e9:.1f}",
        ])


if __name__ == "__main__":
    main()
