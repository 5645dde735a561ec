"""linear + bias, many small calls: how many launches a second go through when they are spread over streams?"""
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

LAUNCHES = 64
ROUNDS = 9
COUNTS = (1, 2, 4)
SHAPES = [(8, 256, 256), (16, 512, 512), (32, 768, 768)]


def issue(streams, xs, weight, bias, launches):
    for i in range(launches):
        stream = streams[i % len(streams)]
        with torch.npu.stream(stream):
            y = F.linear(xs[i % len(xs)], weight, bias)
        stream.synchronize()
    return y


def throughput(streams, xs, weight, bias):
    torch.npu.synchronize()
    begin = time.perf_counter()
    issue(streams, xs, weight, bias, LAUNCHES)
    for stream in streams:
        stream.synchronize()
    return LAUNCHES / (time.perf_counter() - begin)


print(f"sustained launch throughput of F.linear with bias, fp16: {LAUNCHES} launches a round, {ROUNDS} rounds;")
print("weights and inputs are resident in L2, as in a decode loop. Thousand launches a second.")
for m, k, n in SHAPES:
    torch.manual_seed(m)
    xs = [torch.randn(m, k, device="npu").half() for _ in range(8)]
    weight = torch.randn(n, k, device="npu").half() / k**0.5
    bias = torch.randn(n, device="npu").half()
    torch.npu.synchronize()
    want = F.linear(xs[0].cpu().float(), weight.cpu().float(), bias.cpu().float())

    pools = {count: [torch.npu.Stream() for _ in range(count)] for count in COUNTS}
    for streams in pools.values():
        issue(streams, xs, weight, bias, 16)
        got = issue(streams, xs[:1], weight, bias, 1)
        torch.npu.synchronize()
        torch.testing.assert_close(got.cpu().float(), want, rtol=1e-2, atol=1e-2)

    rates = {count: [] for count in COUNTS}
    for r in range(ROUNDS):
        for count in np.roll(COUNTS, r):
            rates[int(count)].append(throughput(pools[int(count)], xs, weight, bias) / 1e3)
    for count, k_per_s in rates.items():
        low, mid, high = np.percentile(k_per_s, [0, 50, 100])
        print(f"  [{m},{k}]x[{k},{n}]  {count} stream{'s' if count > 1 else ' '}  {mid:8.2f} k/s   (min {low:.2f}, max {high:.2f})")
