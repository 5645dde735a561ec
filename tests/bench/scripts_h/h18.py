"""Transposing matrices on the NPU: us per call, median and spread of 25 samples of 20 calls."""
import timeit
import statistics
import torch
import torch_npu

for n in (256, 1024, 4096):
    x = torch.ones(n, n, device="npu")
    def go():
        for _ in range(20):
            x.transpose(0, 1)
        torch.npu.synchronize()
    go()
    us = [t * 1e6 / 20 for t in timeit.repeat(go, number=1, repeat=25)]
    print(f"transpose {n}x{n}: {statistics.median(us):.3f} us (stdev {statistics.stdev(us):.3f})")
