"""A chain of pow and sqrt: wall time of the chain, samples drawn from a generator."""
import itertools
import statistics
import time

import torch
import torch_npu  # noqa: F401

LINKS = 3  # (pow, sqrt) pairs in the chain


def chain(x):
    for _ in range(LINKS):
        x = x.pow(2)
        x = x.sqrt()
    return x


def inputs(n, copies=6):
    """Endless: positive tensors, made before the first one is given out."""
    held = [torch.rand(n, device="npu") + 0.5 for _ in range(copies)]
    torch.npu.synchronize()
    yield from itertools.cycle(held)


def samples(fn, source, chains):
    """Endless: seconds for one run of fn, from blocks of `chains` runs that end with a wait."""
    while True:
        block = list(itertools.islice(source, chains))
        torch.npu.synchronize()
        before = time.perf_counter()
        for x in block:
            fn(x)
        torch.npu.synchronize()
        yield (time.perf_counter() - before) / chains


def take(n, generator):
    return list(itertools.islice(generator, n))


print(f"chain of {LINKS} x (pow 2, sqrt), float32, {2 * LINKS} kernels; the inputs of a size go round and may sit in L2")
for n in (1 << 16, 1 << 18, 1 << 20):
    source = inputs(n)
    x = next(source)
    torch.testing.assert_close(chain(x).cpu(), x.cpu(), rtol=1e-4, atol=1e-5)

    stream = samples(chain, source, chains=2)
    take(5, stream)  # warm-up blocks
    us = [s * 1e6 for s in take(30, stream)]
    cuts = statistics.quantiles(us, n=10, method="inclusive")
    print(
        f"  {n:8d} elements: median {statistics.median(us):8.2f} us a chain, {statistics.median(us) / 2 / LINKS:6.2f} us "
        f"a kernel with its launch; 10 % .. 90 %: {cuts[0]:.2f} .. {cuts[-1]:.2f} us, {len(us)} blocks of 2"
    )
