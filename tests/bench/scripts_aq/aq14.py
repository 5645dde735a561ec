"""Transposed copy issued by worker threads, each on a stream of its own."""
import statistics
import threading
import time

import torch
import torch_npu

COPIES, ROUNDS = 12, 7


def worker(stream, tensors, gate):
    gate.wait()
    with torch.npu.stream(stream):
        for i in range(COPIES):
            tensors[i % len(tensors)].t().contiguous()


def one_round(streams, pools):
    gate = threading.Barrier(len(streams) + 1)
    crew = [threading.Thread(target=worker, args=(s, p, gate)) for s, p in zip(streams, pools)]
    for t in crew:
        t.start()
    torch.npu.synchronize()
    t0 = time.perf_counter()
    gate.wait()
    for t in crew:
        t.join()
    torch.npu.synchronize()
    return time.perf_counter() - t0


streams = [torch.npu.Stream() for _ in range(2)]
for rows, cols in [(128, 256), (256, 512), (512, 512)]:
    pools = [[torch.randn(rows, cols, device="npu") for _ in range(4)] for _ in streams]
    x = pools[0][0]
    assert torch.equal(x.t().contiguous().cpu(), x.cpu().t())
    torch.npu.synchronize()
    found = {1: [], 2: []}
    for n in found:
        one_round(streams[:n], pools[:n])
    for r in range(ROUNDS):
        for n in ((1, 2), (2, 1))[r % 2]:
            found[n].append(one_round(streams[:n], pools[:n]) / (n * COPIES) * 1e6)
    for n, us in found.items():
        print(f"{rows} x {cols} fp32, {n} thread(s): {statistics.median(us):.2f} us of elapsed time per copy "
              f"(from {min(us):.2f} to {max(us):.2f}, {ROUNDS} rounds of {n * COPIES} copies)")
print("Elapsed time from the start signal until all streams are done, divided by the copies of all threads; "
      "the threads' wake-up is in it, their creation is not; inputs hot in L2.")
