"""Pick the serving batch for the ranking head."""
import logging
import time

import torch
import torch_npu
import torch.nn as nn

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
log = logging.getLogger("batch_sweep")

BATCHES = (28, 30, 32, 34)
WIDTH = 256


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, 1)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def request(model, x):
    """What a caller sees: from the call until the scores are there."""
    t0 = time.perf_counter()
    model(x)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))]


@torch.no_grad()
def sweep(model):
    result = {}
    for batch in BATCHES:
        x = torch.randn(batch, WIDTH, device="npu")
        for _ in range(10):
            request(model, x)
        lat = [request(model, x) for _ in range(6)]
        result[batch] = quantile(lat, 0.50), quantile(lat, 0.99)
    return result


def main():
    torch.manual_seed(7)
    model = Head().to("npu").eval()
    result = sweep(model)
    for batch, (p50, p99) in result.items():
        log.info("batch %3d  request latency P50 %.3f us  P99 %.3f us", batch, p50, p99)
    best = min(result, key=lambda b: result[b][1])
    log.info("tail latency is lowest at batch %d (P99 %.3f us); use it in production", best, result[best][1])


if __name__ == "__main__":
    main()
