"""Ragged lookup in the retrieval service: torch.gather + reduce, compiled.

Requests come with candidate lists of different length; the compiled function serves them all.
"""
import time

import torch
import torch_npu  # noqa: F401

torch.set_num_threads(1)
torch.manual_seed(12)
QUERIES, ITEMS = 16, 512
LENGTHS = [32, 64, 96]
PER_LENGTH = 50


def pick_and_score(scores, candidates):
    picked = torch.gather(scores, 1, candidates)
    return picked.sum(dim=-1) - picked.amax(dim=-1)


compiled = torch.compile(pick_and_score, backend="npu", dynamic=False)


def requests(lengths):
    return [torch.randint(ITEMS, (QUERIES, n)).npu() for n in lengths for _ in range(PER_LENGTH)]


def serve(fn, scores, reqs):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for candidates in reqs:
        fn(scores, candidates)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / len(reqs) * 1e6


scores = torch.randn(QUERIES, ITEMS).npu()
reqs_all, reqs_short = requests(LENGTHS), requests(LENGTHS[:1])

# compile and warm up
for fn in (pick_and_score, compiled):
    for _ in range(2):
        serve(fn, scores, reqs_short)
assert torch.allclose(compiled(scores, reqs_short[0]), pick_and_score(scores, reqs_short[0]), atol=1e-5)

rows = {"eager": serve(pick_and_score, scores, reqs_all), "compiled": serve(compiled, scores, reqs_all)}

print(f"**gather + reduce**, {QUERIES} queries x {ITEMS} items, candidate lists of {LENGTHS} ids, "
      f"{torch.npu.get_device_name()}")
print()
print("| mode | running time per request (us, wall clock) |")
print("|:-----|------------------------------------------:|")
for mode, us in rows.items():
    print(f"| {mode} | {us:.0f} |")
print()
print(f"Mean over {len(reqs_all)} requests, queued back to back, after warm-up.")
