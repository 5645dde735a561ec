"""Sustained inference rate: keep the card busy for a while, then count."""
import contextlib
import functools
import time

import torch
import torch_npu

SECONDS = 2.4
BATCH = 64
IN_FLIGHT = 8


@contextlib.contextmanager
def stopwatch(log):
    torch.npu.synchronize()
    opened = time.perf_counter()
    yield lambda: time.perf_counter() - opened
    torch.npu.synchronize()
    log.append(time.perf_counter() - opened)


def make_net():
    torch.manual_seed(1)
    layers = []
    for _ in range(3):
        layers += [torch.nn.Linear(512, 512), torch.nn.LayerNorm(512), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(512, 100)).to("npu").half().eval()


def saturate(infer, seconds):
    """Issues batches until `seconds` are over; lets at most IN_FLIGHT pile up.

    Returns (batches, seconds really taken, overhang of the last wait included).
    """
    log, batches = [], 0
    with stopwatch(log) as so_far:
        while so_far() < seconds:
            for _ in range(IN_FLIGHT):
                infer()
            batches += IN_FLIGHT
            torch.npu.synchronize()
    return batches, log[0]


@torch.no_grad()
def main():
    net = make_net()
    images = torch.randn(BATCH, 512, dtype=torch.float16, device="npu")
    infer = functools.partial(net, images)
    saturate(infer, 0.5)
    parts = [saturate(infer, SECONDS / 3) for _ in range(3)]
    batches = sum(n for n, _ in parts)
    spent = sum(s for _, s in parts)
    each = [n * BATCH / s for n, s in parts]
    print(
        f"model      3 x (Linear 512, LayerNorm, ReLU) + head, fp16, batch {BATCH}\n"
        f"asked for  {SECONDS:.1f} s in three stretches; got {spent:.3f} s, since a stretch ends when its last batch is done\n"
        f"done       {batches} batches = {batches * BATCH} vectors\n"
        f"sustained  {batches * BATCH / spent:,.0f} vectors/s on the wall clock\n"
        f"stretches  {', '.join(f'{r:,.0f}' for r in each)} vectors/s\n"
        f"per batch  {spent / batches * 1e3:.3f} ms of wall time on average (not a latency: up to {IN_FLIGHT} are queued)\n"
        f"queue      drained every {IN_FLIGHT} batches, drain counted in; input stays on the card, no host copies\n"
        f"warm-up    half a second of the same loop, thrown away"
    )


if __name__ == "__main__":
    main()
