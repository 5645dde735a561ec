"""How many GELU launches per second does one stream take, and do two streams take more?"""
import statistics
import time

import torch
import torch_npu
import torch.nn.functional as F

SHAPES = [(128, 256), (256, 512), (512, 512)]
LAUNCHES = 40
ROUNDS = 7

side = [torch.npu.Stream(), torch.npu.Stream()]


def push(tensors, streams):
    for i in range(LAUNCHES):
        with torch.npu.stream(streams[i % len(streams)]):
            F.gelu(tensors[i % len(tensors)])
        torch.npu.synchronize()


def rate(tensors, streams):
    torch.npu.synchronize()
    begin = time.perf_counter()
    push(tensors, streams)
    torch.npu.synchronize()
    return LAUNCHES / (time.perf_counter() - begin)


for shape in SHAPES:
    tensors = [torch.randn(shape, device="npu", dtype=torch.float16) for _ in range(4)]
    torch.npu.synchronize()
    for streams in (side[:1], side):
        push(tensors, streams)
    found = {1: [], 2: []}
    for r in range(ROUNDS):
        for n in ((1, 2) if r % 2 == 0 else (2, 1)):
            found[n].append(rate(tensors, side[:n]))
    for n, values in found.items():
        print(f"gelu {shape} fp16, {n} stream(s), inputs hot in L2: launch throughput "
              f"{statistics.median(values):,.0f} launches/s "
              f"(lowest {min(values):,.0f}, highest {max(values):,.0f}, {ROUNDS} rounds of {LAUNCHES})")
print("Throughput of back-to-back launches, host and device together, for the three shapes above.")
