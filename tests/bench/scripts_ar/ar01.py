"""Batched matmul for attention scores: latency per call for three head layouts."""
import statistics
import time

import torch
import torch_npu

DEV = "npu"
SHAPES = [(16, 128, 64, 128), (32, 128, 64, 128), (32, 256, 64, 256)]
SAMPLES = 12


def inputs(b, m, k, n, count=4):
    g = torch.Generator().manual_seed(b + m)
    pairs = []
    for _ in range(count):
        q = torch.randn(b, m, k, generator=g).half().to(DEV)
        kt = torch.randn(b, k, n, generator=g).half().to(DEV)
        pairs.append((q, kt))
    torch.npu.synchronize()
    return pairs


def latencies(pairs, samples):
    """Yield the time of one bmm, issue to completion, in microseconds."""
    for i in range(samples):
        q, kt = pairs[i % len(pairs)]
        torch.npu.synchronize()
        begin = time.perf_counter()
        out = torch.bmm(q, kt)
        torch.npu.synchronize()
        yield (time.perf_counter() - begin) * 1e6
        del out


def report():
    for shape in SHAPES:
        us = list(latencies(inputs(*shape), SAMPLES))
        yield shape, statistics.mean(us), statistics.stdev(us), min(us), max(us)


def main():
    print(f"bmm, fp16, one call with issue and wait, {SAMPLES} samples per shape")
    print("operands are 4 rotating pairs that fit into L2 (cache is hot)")
    for (b, m, k, n), mean, sd, lo, hi in report():
        print(f"steady-state latency of [{b},{m},{k}] x [{b},{k},{n}]: "
              f"{mean:.1f} us +- {sd:.1f} (min {lo:.1f}, max {hi:.1f})")


if __name__ == "__main__":
    main()
