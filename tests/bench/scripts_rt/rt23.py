import statistics
from functools import partial
from random import Random
from time import perf_counter

import torch
import torch_npu
import torch.nn.functional as F


def make_probe(samples, classes, seed):
    """Everything one size needs, closed over: inputs, reference, its own list of times."""
    gen = torch.Generator().manual_seed(seed)
    logits = torch.randn(samples, classes, generator=gen)
    target = torch.randint(0, classes, (samples,), generator=gen)
    on_card = logits.npu(), target.npu()
    exact = F.cross_entropy(logits.double(), target).item()
    times = []

    def call():
        return F.cross_entropy(*on_card)

    def probe(keep):
        torch.npu.synchronize()
        begin = perf_counter()
        call()
        torch.npu.synchronize()
        elapsed = perf_counter() - begin
        if keep:
            times.append(elapsed)

    def report():
        cents = statistics.quantiles(times, n=10)
        bytes_in = logits.nbytes + target.nbytes
        return (f"{samples:>5} x {classes:<5} {bytes_in / 1024:8.1f} KiB   "
                f"{1e6 * statistics.median(times):8.2f}   {1e6 * cents[0]:8.2f} - {1e6 * cents[-1]:<8.2f}  {1e6 * max(times):9.2f}   "
                f"{abs(call().item() - exact) / exact:.0e}")

    return partial(probe, False), partial(probe, True), report


def shuffled(things, rng):
    things = list(things)
    rng.shuffle(things)
    return things


sizes = [(32, 10), (32, 1000), (128, 100), (128, 1000), (64, 4000)]
probes = [make_probe(*s, seed=i) for i, s in enumerate(sizes)]
rng = Random(23)
for warm, _, _ in probes * 5:
    warm()
for _ in range(50):
    for _, timed, _ in shuffled(probes, rng):
        timed()

print("Cross entropy (mean), forward only, time for a single call up to its completion [us], 50 calls per size")
print(" rows x classes     input     median    1st - 9th decile          maximum   rel. to fp64")
for _, _, report in probes:
    print(report())
print()
print("What this is: five sizes I happened to need. What it is not: a scaling law; neither rows nor classes were varied alone,")
print("and I would re-run rather than interpolate. Inputs hot in cache. Five calls per size came first and are not among the 50;")
print("sizes were drawn in a new random order in each of the 50 rounds; reading the loss back to the host is not timed.")
