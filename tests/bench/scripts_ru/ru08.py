"""Captured graph against eager calls: device time by events, host time to issue by perf_counter."""
import time

import torch
import torch_npu


class Chain:
    """Six small operators on static buffers."""

    def __init__(self, n=1024):
        self.x = torch.randn(n, device="npu")
        self.y = torch.empty_like(self.x)

    def eager(self):
        h = torch.relu(self.x + 0.5)
        h = h * 0.25
        h = torch.tanh(h)
        h = h - 0.125
        self.y.copy_(h)

    def capture(self):
        for _ in range(3):
            self.eager()
        torch.npu.synchronize()
        graph = torch.npu.NPUGraph()
        with torch.npu.graph(graph):
            self.eager()
        return graph


class TwoClocks:
    def __init__(self, repeats, rounds):
        self.repeats, self.rounds = repeats, rounds
        self.device, self.issue = {}, {}

    def once(self, name, call):
        a, b = (torch.npu.Event(enable_timing=True) for _ in range(2))
        torch.npu.synchronize()
        a.record()
        t = time.perf_counter()
        for _ in range(self.repeats):
            call()
        issued = time.perf_counter() - t
        b.record()
        b.synchronize()
        self.device.setdefault(name, []).append(a.elapsed_time(b) * 1e-3 / self.repeats)
        self.issue.setdefault(name, []).append(issued / self.repeats)

    def alternate(self, cases):
        for name, call in cases.items():
            for _ in range(5):
                call()
        for _ in range(self.rounds):
            for name, call in cases.items():
                self.once(name, call)


chain = Chain()
graph = chain.capture()
chain.eager()
want = chain.y.clone()
chain.y.zero_()
graph.replay()
torch.npu.synchronize()
assert torch.equal(chain.y, want), "replay does not give what eager gives"

clocks = TwoClocks(repeats=10, rounds=9)
clocks.alternate({"eager": chain.eager, "replay": graph.replay})

print("seconds for one pass of the chain (6 operators, 1024 float32), median of 9 rounds of 10 passes, capture not included")
print(f"{'':8}{'on the stream [s]':>22}{'host, issue only [s]':>24}")
for name in clocks.device:
    on_stream = torch.tensor(clocks.device[name], dtype=torch.float64).median().item()
    issue = torch.tensor(clocks.issue[name], dtype=torch.float64).median().item()
    print(f"{name:8}{on_stream:22.3e}{issue:24.3e}")
print("on the stream: between two events, idle gaps included. issue only: until the calls have returned,")
print("back-pressure of a full queue included; the device may still be at work then.")
