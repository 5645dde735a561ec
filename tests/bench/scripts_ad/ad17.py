"""Do two streams help? Upload and compute of eight chunks: one stream against two, in turns.

Upload and compute are both meant to be in the time: the question is the time of the whole job. Both variants take
the same pinned chunks, make the same results (checked) and end with a wait for the whole device, so that nothing on
the second stream is left out. Rounds alternate the order. Whether it helps depends on the size of the chunks; the
table shows three, and no more is said.
"""
import statistics
import time

import torch
import torch_npu

CHUNKS = 8
ROUNDS = 14


def compute(x, weight):
    return torch.relu(x @ weight)


def serial(chunks, weight):
    return [compute(chunk.to("npu", non_blocking=True), weight) for chunk in chunks]


def overlapped(chunks, weight, copies):
    main = torch.npu.current_stream()
    loaded = []
    with torch.npu.stream(copies):
        for chunk in chunks:
            x = chunk.to("npu", non_blocking=True)
            ready = torch.npu.Event()
            ready.record(copies)
            loaded.append((x, ready))
    results = []
    for x, ready in loaded:
        main.wait_event(ready)
        x.record_stream(main)
        results.append(compute(x, weight))
    return results


def job(function, *arguments):
    torch.npu.synchronize()
    begin = time.perf_counter()
    function(*arguments)
    torch.npu.synchronize()
    return (time.perf_counter() - begin) * 1e3


@torch.no_grad()
def main():
    torch.manual_seed(17)
    copies = torch.npu.Stream()
    print(f"{CHUNKS} chunks, upload + matmul + relu, float32; ms for the whole job, {ROUNDS} rounds in turns")
    for rows in (32, 128, 256):
        chunks = [torch.randn(rows, 128).pin_memory() for _ in range(CHUNKS)]
        weight = torch.randn(128, 128).npu()
        for a, b in zip(serial(chunks, weight), overlapped(chunks, weight, copies)):
            torch.testing.assert_close(a.cpu(), b.cpu())
        sides = [("one stream", serial, (chunks, weight)), ("two streams", overlapped, (chunks, weight, copies))]
        for _ in range(3):
            for _, function, arguments in sides:
                job(function, *arguments)
        times = {name: [] for name, _, _ in sides}
        for index in range(ROUNDS):
            for name, function, arguments in sides[:: 1 if index % 2 else -1]:
                times[name].append(job(function, *arguments))
        for name, values in times.items():
            low, middle, high = statistics.quantiles(values, n=4)
            print(f"  {rows:4d} x 128  {name:12} median {middle:.3f}  quartiles {low:.3f} .. {high:.3f}")
        gains = [a / b for a, b in zip(times["one stream"], times["two streams"])]
        low, middle, high = statistics.quantiles(gains, n=4)
        print(f"  {rows:4d} x 128  one / two    median {middle:.3f}  quartiles {low:.3f} .. {high:.3f}")


main()
