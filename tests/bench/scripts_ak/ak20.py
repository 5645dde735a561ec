"""gelu from several threads, each with a stream of its own: does the rate of the whole process grow?"""
import threading
import time

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

TOTAL = 24  # calls in a round, shared out among the workers
ROUNDS, ROWS, COLS = 30, 256, 2048


class Worker(threading.Thread):
    def __init__(self, tensors, gate):
        super().__init__(daemon=True)
        self.tensors, self.gate, self.stream = tensors, gate, torch.npu.Stream()
        self.calls = 0  # of the next round; -1 ends the thread

    def run(self):
        torch.npu.set_device(0)
        while True:
            self.gate.wait()
            if self.calls < 0:
                return
            with torch.npu.stream(self.stream), torch.no_grad():
                for i in range(self.calls):
                    self.last = F.gelu(self.tensors[i % len(self.tensors)])
            self.stream.synchronize()
            self.gate.wait()


def team(size):
    gate = threading.Barrier(size + 1)
    workers = [Worker([torch.randn(ROWS, COLS, device="npu") for _ in range(2)], gate) for _ in range(size)]
    torch.npu.synchronize()
    for w in workers:
        w.calls = TOTAL // size
        w.start()
    return gate, workers


def play(gate):
    torch.npu.synchronize()
    start = time.perf_counter()
    gate.wait()  # the workers begin
    gate.wait()  # each has waited for its own stream
    torch.npu.synchronize()
    return TOTAL / (time.perf_counter() - start)


teams = {size: team(size) for size in (1, 2, 4)}
for gate, workers in teams.values():
    for _ in range(3):
        play(gate)
    for w in workers:
        torch.testing.assert_close(w.last.cpu(), F.gelu(w.tensors[(w.calls - 1) % 2].cpu()), rtol=1e-3, atol=1e-3)

rates = {size: [] for size in teams}
for r in range(ROUNDS):
    for size in sorted(teams, reverse=r % 2 == 1):
        rates[size].append(play(teams[size][0]))
for gate, workers in teams.values():
    for w in workers:
        w.calls = -1
    gate.wait()

print(f"gelu [{ROWS}, {COLS}] float32, {TOTAL} calls a round in all, handing over to the threads included, inputs reused (L2 hot)")
for size, values in rates.items():
    p10, p50, p90 = torch.tensor(values, dtype=torch.float64).quantile(torch.tensor([0.1, 0.5, 0.9]).double()).tolist()
    print(f"  {size} threads: {p50:9.0f} calls/s (p10 {p10:.0f}, p90 {p90:.0f}, {ROUNDS} rounds)")
