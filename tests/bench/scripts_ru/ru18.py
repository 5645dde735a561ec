"""LayerNorm from one thread and from two: what the second thread buys on one device."""

import enum
import threading
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

CALLS = 200
ROUNDS = 9
ROWS, DIM = 64, 256


class Mode(enum.Enum):
    SERIAL = "one thread, all calls"
    THREADED = "two threads, half each"

    @property
    def workers(self):
        return 1 if self is Mode.SERIAL else 2


class Worker:
    def __init__(self):
        self.stream = torch.npu.Stream()
        with torch.npu.stream(self.stream):
            self.x = torch.randn(ROWS, DIM, device="npu")
            self.w = torch.ones(DIM, device="npu")
            self.b = torch.zeros(DIM, device="npu")
            for _ in range(10):
                self.call()
        self.stream.synchronize()

    def call(self):
        return F.layer_norm(self.x, (DIM,), self.w, self.b)

    def run(self, count, gate):
        with torch.npu.stream(self.stream):
            gate.wait()
            self.t0 = time.perf_counter()  # one clock for all threads of the process
            self.e0 = torch.npu.Event(enable_timing=True)
            self.e0.record(self.stream)
            for _ in range(count):
                self.call()
            self.e1 = torch.npu.Event(enable_timing=True)
            self.e1.record(self.stream)
            self.stream.synchronize()
            self.t1 = time.perf_counter()


def play(workers):
    """ms from the first start to the last end, by the host's clock and by the events of all streams."""
    gate = threading.Barrier(len(workers))
    threads = [threading.Thread(target=w.run, args=(CALLS // len(workers), gate)) for w in workers]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    host = max(w.t1 for w in workers) - min(w.t0 for w in workers)
    zero = workers[0].e0
    starts = [0.0] + [zero.elapsed_time(w.e0) for w in workers[1:]]
    ends = [zero.elapsed_time(w.e1) for w in workers]
    return host * 1e3, max(ends) - min(starts)


crews = {mode: [Worker() for _ in range(mode.workers)] for mode in Mode}
for crew in crews.values():
    play(crew)
samples = {mode: [] for mode in Mode}
for _ in range(ROUNDS):
    for mode, crew in crews.items():
        samples[mode].append(play(crew))

print(f"layer_norm of {ROWS} x {DIM} float32, {CALLS} calls a round in either mode, {ROUNDS} rounds, first start to last end\n")
print("| mode | host p50 (ms) | host max (ms) | events p50 (ms) | calls/s (host p50) |")
print("|---|---:|---:|---:|---:|")
for mode, pairs in samples.items():
    host, device = np.array(pairs).T
    mid = np.median(host)
    print(f"| {mode.value} | {mid:.3f} | {host.max():.3f} | {np.median(device):.3f} | {CALLS / mid * 1e3:,.0f} |")
print("\nThreads are made before the gate; making and joining them is not in the time.")
