"""Throughput of the compiled ranking MLP for the capacity plan.

The ranker serves for days on one process, so what counts is the rate it reaches in steady operation. We push
windows of batches through the compiled model, wait once per window and report the rate over all windows and the
range. Batch sizes are those the batcher produces.
"""
import json
import time

import torch
import torch_npu

WINDOWS = 6
PER_WINDOW = 10


class Ranker(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = torch.nn.Linear(width, 2 * width)
        self.down = torch.nn.Linear(2 * width, 1)

    def forward(self, x):
        return torch.sigmoid(self.down(torch.nn.functional.silu(self.up(x)))).squeeze(-1)


def prepare(width, batch):
    """A model that has run: weights are on the device, operators are loaded."""
    model = Ranker(width).npu().eval()
    x = torch.randn(batch, width).npu()
    for _ in range(5):
        model(x)
    torch.npu.synchronize()
    return torch.compile(model), x


def rate(model, x):
    """Items a second over all windows, and the slowest and fastest window."""
    seconds = []
    for _ in range(WINDOWS):
        begin = time.perf_counter()
        for _ in range(PER_WINDOW):
            model(x)
        torch.npu.synchronize()
        seconds.append(time.perf_counter() - begin)
    items = PER_WINDOW * len(x)
    return {
        "items_per_s": round(WINDOWS * items / sum(seconds), 1),
        "slowest_window": round(items / max(seconds), 1),
        "fastest_window": round(items / min(seconds), 1),
    }


@torch.no_grad()
def main():
    torch.manual_seed(5)
    report = {"model": "ranker, torch.compile", "dtype": "float32", "mode": "steady state", "results": []}
    for width, batch in ((32, 16), (64, 16), (64, 32)):
        torch._dynamo.reset()
        model, x = prepare(width, batch)
        report["results"].append({"width": width, "batch": batch, **rate(model, x)})
    print(json.dumps(report, indent=2))


main()
