import logging
from statistics import fmean

import torch
import torch.nn.functional as F
import torch_npu

logging.basicConfig(level=logging.INFO, format="%(levelname).1s %(message)s")
log = logging.getLogger("loss")

SETTINGS = [(128, 1000), (128, 4000), (512, 4000)]
SAMPLES = 40


def stamps(n):
    return [torch.npu.Event(enable_timing=True) for _ in range(n)]


def sample(function):
    starts, ends = stamps(SAMPLES), stamps(SAMPLES)
    for start, end in zip(starts, ends):
        start.record()
        function()
        end.record()
    torch.npu.synchronize()
    return [start.elapsed_time(end) * 1e3 for start, end in zip(starts, ends)]


def main():
    torch.manual_seed(3)
    cost = {}
    for rows, classes in SETTINGS:
        logits = torch.randn(rows, classes).npu()
        target = torch.randint(0, classes, (rows,)).npu()
        expected = F.cross_entropy(logits.cpu(), target.cpu())
        torch.testing.assert_close(F.cross_entropy(logits, target).cpu(), expected, rtol=1e-4, atol=1e-4)
        for _ in range(15):
            F.cross_entropy(logits, target)
        torch.npu.synchronize()
        cost[rows, classes] = fmean(sample(lambda: F.cross_entropy(logits, target)))
    log.info("cross_entropy forward, float32, logits in the L2")
    for (rows, classes), us in cost.items():
        log.info("%4d rows, %5d classes: %.2f us per call", rows, classes, us)


if __name__ == "__main__":
    main()
