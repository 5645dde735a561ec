"""Does feeding the device from several host threads help group norm? The same 48 launches, shared by 1, 2 or 4 threads."""
import random
import time
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import torch
import torch.nn.functional as F
import torch_npu

random.seed(1)
LAUNCHES, ROUNDS, GROUPS = 48, 25, 8
COUNTS = (1, 2, 4)


def work(stream, part):
    torch.npu.set_device(0)
    with torch.npu.stream(stream):
        outs = [F.group_norm(x, GROUPS) for x in part]
    stream.synchronize()
    return outs


def one_round(pool, streams, inputs):
    n = len(streams)
    parts = [inputs[i::n] for i in range(n)]
    torch.npu.synchronize()
    t0 = time.perf_counter()
    jobs = [pool.submit(work, s, p) for s, p in zip(streams, parts)]
    outs = [j.result() for j in jobs]
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6, parts, outs


def main():
    pools = {n: ThreadPoolExecutor(n) for n in COUNTS}
    streams = {n: [torch.npu.Stream() for _ in range(n)] for n in COUNTS}
    for shape in [(2, 32, 16, 16), (4, 64, 32, 32)]:
        inputs = [torch.randn(shape, device="npu") for _ in range(LAUNCHES)]
        torch.npu.synchronize()
        for n in COUNTS:
            for _ in range(3):
                _, parts, outs = one_round(pools[n], streams[n], inputs)
            for part, out in zip(parts, outs):
                for x, y in zip(part, out):
                    torch.testing.assert_close(y.cpu(), F.group_norm(x.cpu(), GROUPS), rtol=1e-4, atol=1e-4)
        samples = {n: [] for n in COUNTS}
        for _ in range(ROUNDS):
            for n in random.sample(COUNTS, len(COUNTS)):
                samples[n].append(one_round(pools[n], streams[n], inputs)[0])
        print(f"group_norm fp32 {shape}, {GROUPS} groups, inputs hot in L2: wall time of {LAUNCHES} launches, hand-over to "
              f"the threads and waiting included, {ROUNDS} rounds in random order")
        for n in COUNTS:
            s = sorted(samples[n])
            print(f"  {n} thread(s): median {median(s):9.1f} us, range {s[0]:.1f} to {s[-1]:.1f} us")
    for pool in pools.values():
        pool.shutdown()


main()
