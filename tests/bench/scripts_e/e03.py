"""Latency of single requests as a client sees it: copy in, model, copy out, and the wait for the answer.

The next request starts only when the answer of the last one is there, so the wait belongs to what is measured.
Beside it, by events, the device's own share.
"""
import collections
import time

import numpy as np
import torch
import torch_npu


class Ranker(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.towers = torch.nn.ModuleList(torch.nn.Linear(64, 64) for _ in range(3))
        self.head = torch.nn.Linear(64, 1)

    def forward(self, x):
        for tower in self.towers:
            x = torch.relu(tower(x))
        return self.head(x).squeeze(-1)


ranker = Ranker().npu().eval()
requests = collections.deque(torch.full((candidates, 64), 0.25) for _ in range(60) for candidates in (10, 100, 1000))
log = collections.defaultdict(list)


@torch.no_grad()
def respond(request):
    arrived = time.perf_counter()
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    x = request.npu()
    start.record()
    scores = ranker(x)
    end.record()
    answer = scores.cpu()
    done = time.perf_counter()
    return answer, 1e6 * (done - arrived), start, end


for request in list(requests)[:30]:  # not counted: operators load here
    respond(request)

while requests:
    request = requests.popleft()
    _, latency, start, end = respond(request)
    log[len(request)].append((latency, start, end))

torch.npu.synchronize()
for candidates, rows in sorted(log.items()):
    latency = np.array([row[0] for row in rows])
    device = np.array([1e3 * s.elapsed_time(e) for _, s, e in rows])
    p50, p95, p99 = np.percentile(latency, [50, 95, 99])
    print(f"{candidates:5d} candidates: latency P50 {p50:.0f}  P95 {p95:.0f}  P99 {p99:.0f} us; "
          f"model on the device P50 {np.median(device):.1f} us; {len(rows)} requests one after another, weights warm")
