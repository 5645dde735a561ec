"""Ranking head, one SGD step (forward, loss, backward, update) on a single NPU."""
import logging
import statistics
import sys

import torch
import torch_npu
from torch import nn
import torch.nn.functional as F

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname).1s %(name)s | %(message)s")
log = logging.getLogger("ranker.step")

torch.set_num_threads(1)
BATCH, WIDTH, CLASSES = 128, 256, 32
SETTLE, KEEP = 5, 40


def marker():
    return torch.npu.Event(enable_timing=True)


def train(net, x, y, lr=1e-2):
    """Yields (start, stop, loss) for each step, without waiting for the device."""
    weights = list(net.parameters())
    while True:
        start, stop = marker(), marker()
        start.record()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        with torch.no_grad():
            for w in weights:
                w.sub_(w.grad, alpha=lr)
                w.grad = None
        stop.record()
        yield start, stop, loss.detach()


def main():
    torch.manual_seed(11)
    net = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES)).to("npu")
    x = torch.randn(BATCH, WIDTH).to("npu")
    y = torch.randint(0, CLASSES, (BATCH,)).to("npu")
    torch.npu.synchronize()

    run = train(net, x, y)
    history = [next(run) for _ in range(1 + SETTLE + KEEP)]
    torch.npu.synchronize()

    spans = [a.elapsed_time(b) for a, b, _ in history]
    first, kept = spans[0], spans[1 + SETTLE:]
    deciles = statistics.quantiles(kept, n=10, method="inclusive")
    whole = history[1 + SETTLE][0].elapsed_time(history[-1][1])

    log.info("float32, batch %d, width %d; data already on the card, the same batch in every step", BATCH, WIDTH)
    log.info("opening step (operators are loaded in it, not part of the figures below): %.3f ms", first)
    log.info("then %d steps to settle, dropped; %d steps kept", SETTLE, len(kept))
    log.info("stream time of a step, between two events, gaps of the host included: median %.3f ms, 9th decile %.3f ms",
             statistics.median(kept), deciles[-1])
    log.info("from the first kept step's start to the last one's end: %.2f ms, i.e. %.0f samples/s",
             whole, BATCH * len(kept) / whole * 1e3)
    log.info("loss went %.4f -> %.4f", history[0][2].item(), history[-1][2].item())


if __name__ == "__main__":
    main()
