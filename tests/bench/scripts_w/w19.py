"""Request latency of the ranking endpoint, read back from its own access log."""
import io
import json
import time
from itertools import count

import numpy as np
import torch
import torch.nn as nn
import torch_npu

CANDIDATES, FEATURES, TOP = 200, 64, 10
WARM, REQUESTS = 30, 400


class AccessLog:
    """One JSON object a line, as the log shipper wants it: event, request, milliseconds of the clock."""

    def __init__(self, stream):
        self.stream = stream

    def write(self, event, request):
        stamp = time.monotonic_ns() // 1_000_000
        self.stream.write(json.dumps({"t": stamp, "ev": event, "req": request}) + "\n")


class Endpoint:
    def __init__(self, model, log):
        self.model, self.log, self.ids = model, log, count()

    @torch.no_grad()
    def rank(self, user, items):
        request = next(self.ids)
        self.log.write("received", request)
        rows = torch.cat([user.expand(len(items), -1), items], dim=1).npu()
        best = self.model(rows).squeeze(1).topk(TOP).indices.cpu()
        self.log.write("answered", request)
        return best


def latencies(text, skip):
    """Milliseconds from received to answered, by request."""
    received, out = {}, {}
    for line in text.splitlines():
        entry = json.loads(line)
        if entry["ev"] == "received":
            received[entry["req"]] = entry["t"]
        else:
            out[entry["req"]] = entry["t"] - received[entry["req"]]
    return np.array([ms for request, ms in sorted(out.items()) if request >= skip], dtype=float)


def network():
    torch.manual_seed(6)
    return nn.Sequential(nn.Linear(2 * FEATURES, 64), nn.ReLU(), nn.Linear(64, 1)).eval()


def main():
    host = network()
    stream = io.StringIO()
    endpoint = Endpoint(network().npu(), AccessLog(stream))
    generator = torch.Generator().manual_seed(7)
    users = torch.randn(32, 1, FEATURES, generator=generator)
    items = torch.randn(CANDIDATES, FEATURES, generator=generator)

    for i in range(WARM):
        best = endpoint.rank(users[i % 32], items)
    with torch.no_grad():
        scores = host(torch.cat([users[i % 32].expand(CANDIDATES, -1), items], dim=1)).squeeze(1)
    assert torch.allclose(scores[best], scores.topk(TOP).values, atol=1e-5)

    for i in range(REQUESTS):
        endpoint.rank(users[i % 32], items)

    ms = latencies(stream.getvalue(), skip=WARM)
    assert len(ms) == REQUESTS
    p50, p90, p99 = np.percentile(ms, [50, 90, 99])
    print(f"ranking, {CANDIDATES} candidates, {2 * FEATURES} float32 features, one request at a time, {REQUESTS} requests")
    print("received to answered (features joined, upload, model, top 10, download):")
    print(f"mean {ms.mean():.3f} ms  standard deviation {ms.std(ddof=1):.3f}  P50 {p50:.2f}  P90 {p90:.2f}  P99 {p99:.2f}")


if __name__ == "__main__":
    main()
