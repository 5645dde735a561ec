"""Three ways to look a token up in a table."""

import time

import torch
import torch.nn.functional as F
import torch_npu

VOCAB, DIM, TOKENS = 256, 64, 128
CALLS, LAPS = 10, 15


class Harness:
    """Give it callables; it takes turns between them and keeps two readings per lap."""

    def __init__(self, **callables):
        self.callables = callables
        self.returned = {name: [] for name in callables}
        self.finished = {name: [] for name in callables}

    def lap(self, name):
        fn = self.callables[name]
        torch.npu.synchronize()
        t0 = time.perf_counter()
        for _ in range(CALLS):
            fn()
        t1 = time.perf_counter()
        torch.npu.synchronize()
        t2 = time.perf_counter()
        return (t1 - t0) / CALLS, (t2 - t0) / CALLS

    def go(self):
        for name in self.callables:
            self.lap(name)
            self.lap(name)
        for _ in range(LAPS):
            for name in self.callables:
                issued, done = self.lap(name)
                self.returned[name].append(issued * 1e6)
                self.finished[name].append(done * 1e6)

    def check(self):
        results = [fn() for fn in self.callables.values()]
        for other in results[1:]:
            torch.testing.assert_close(other, results[0])


def middle(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


table = torch.randn(VOCAB, DIM, device="npu")
tokens = torch.randint(0, VOCAB, (TOKENS,), device="npu")
classes = torch.arange(VOCAB, device="npu")
harness = Harness(
    embedding=lambda: F.embedding(tokens, table),
    index_select=lambda: table.index_select(0, tokens),
    one_hot_matmul=lambda: (tokens[:, None] == classes).to(table.dtype) @ table,
)
harness.check()
harness.go()

finished = {name: middle(v) for name, v in harness.finished.items()}
returned = {name: middle(v) for name, v in harness.returned.items()}
unit = max(finished.values()) / 40
print(f"{TOKENS} tokens out of {VOCAB} x {DIM} float32, us per lookup, median of {LAPS} laps of {CALLS}; same tokens each time")
print("# until the device is done (one wait per lap)   - host only, until the calls came back\n")
for name in harness.callables:
    print(f"{name:>15} {'#' * round(finished[name] / unit)} {finished[name]:.2f}")
    print(f"{'':>15} {'-' * round(returned[name] / unit)} {returned[name]:.2f}")
