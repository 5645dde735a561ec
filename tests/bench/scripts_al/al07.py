"""Softmax requests from several threads, a stream each: how many rows a second does the card answer in all?"""
import statistics
import threading
import time

import torch
import torch_npu

REQUESTS, ROUNDS, WARM = 24, 12, 3


class Worker(threading.Thread):
    def __init__(self, inputs, go, done):
        super().__init__(daemon=True)
        self.inputs, self.go, self.done = inputs, go, done
        self.stream = torch.npu.Stream()
        self.last = None

    def run(self):
        for _ in range(WARM + ROUNDS):
            self.go.wait()
            with torch.npu.stream(self.stream):
                for i in range(REQUESTS):
                    self.last = torch.softmax(self.inputs[i % len(self.inputs)], dim=-1)
            self.stream.synchronize()
            self.done.wait()


def measure(count, rows, cols):
    inputs = [[torch.randn(rows, cols, device="npu") for _ in range(3)] for _ in range(count)]
    torch.npu.synchronize()
    go, done = threading.Barrier(count + 1), threading.Barrier(count + 1)
    workers = [Worker(mine, go, done) for mine in inputs]
    for w in workers:
        w.start()

    seconds = []
    for _ in range(WARM + ROUNDS):
        torch.npu.synchronize()
        start = time.perf_counter()
        go.wait()
        done.wait()
        seconds.append(time.perf_counter() - start)
    for w in workers:
        w.join()
        want = torch.softmax(w.inputs[(REQUESTS - 1) % len(w.inputs)].cpu(), dim=-1)
        torch.testing.assert_close(w.last.cpu(), want)
    return [count * REQUESTS * rows / s / 1e6 for s in seconds[WARM:]]


print(f"softmax, fp32, inputs that stay in L2 (warm, as after a matmul); {REQUESTS} requests a thread and round,")
print(f"clock from the start of a round until every thread's stream has finished; first {WARM} rounds warm up")
print(f"{'shape':>12} {'threads':>8} {'Mrows/s':>9} {'min':>9} {'max':>9}   of {ROUNDS} rounds, median first")
for rows, cols in [(64, 512), (256, 1024), (512, 2048)]:
    for count in (1, 2, 4):
        rate = measure(count, rows, cols)
        print(f"{rows:>6}x{cols:<5} {count:>8} {statistics.median(rate):9.3f} {min(rate):9.3f} {max(rate):9.3f}")
