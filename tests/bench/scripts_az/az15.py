"""Gradient of an embedding by scatter_add_: does it matter how often ids repeat?

A lap is `acc.zero_()` plus one scatter_add_, since the training loop needs both; the log says so.  The sizes are
the same for all id distributions, only the ids differ.
"""
import logging
import statistics
import time

import torch
import torch_npu

logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(message)s")
info = logging.info

VOCAB, DIM, TOKENS = 1024, 64, 2048
CALLS, LAPS = 8, 15


def ids_for(kind, gen):
    if kind == "permuted":  # each id equally often, in random order
        return torch.randperm(TOKENS, generator=gen) % VOCAB
    if kind == "uniform":
        return torch.randint(0, VOCAB, (TOKENS,), generator=gen)
    if kind == "single id":
        return torch.zeros(TOKENS, dtype=torch.int64)
    raise ValueError(kind)


def lap(acc, index, grad):
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(CALLS):
        acc.zero_()
        acc.scatter_add_(0, index, grad)
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / CALLS


torch.set_num_threads(1)
gen = torch.Generator().manual_seed(11)
grad = torch.randn(TOKENS, DIM, generator=gen).npu()
sets = {}
for kind in ("permuted", "uniform", "single id"):
    ids = ids_for(kind, gen)
    acc = torch.zeros(VOCAB, DIM, device="npu")
    index = ids.npu().unsqueeze(1).expand(TOKENS, DIM)
    lap(acc, index, grad)
    want = torch.zeros(VOCAB, DIM).index_add_(0, ids, grad.cpu())
    torch.testing.assert_close(acc.cpu(), want, rtol=1e-3, atol=1e-2)
    sets[kind] = (acc, index, ids.unique().numel())

times = {kind: [] for kind in sets}
kinds = list(sets)
for i in range(LAPS):
    for kind in kinds[i % 3:] + kinds[: i % 3]:
        acc, index, _ = sets[kind]
        times[kind].append(lap(acc, index, grad) * 1e6)

info("zero_ + scatter_add_, %d x %d float32 into %d rows, %d laps of %d calls, all in cache", TOKENS, DIM, VOCAB, LAPS, CALLS)
middle = {}
for kind, us in times.items():
    q1, q2, q3 = statistics.quantiles(us, n=4)
    middle[kind] = (q1, q3)
    info("%-10s %5d distinct ids: median %.0f us, middle half %.0f to %.0f us", kind, sets[kind][2], q2, q1, q3)
low, high = max(m[0] for m in middle.values()), min(m[1] for m in middle.values())
if low <= high:
    info("the middle halves of all three overlap: no effect of the ids seen at this size")
else:
    info("the middle halves of at least two do not overlap: the ids differ by more than the usual scatter here")
