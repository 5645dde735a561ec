import functools
import logging
import statistics

import torch
import torch_npu

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger(__name__)


def timed(calls=10, warmup=5):
    """Decorator: the decorated step is repeated and its time in microseconds returned."""
    def wrap(step):
        @functools.wraps(step)
        def runner(*args):
            for _ in range(warmup):
                step(*args)
            torch.npu.synchronize()
            marks = [torch.npu.Event(enable_timing=True) for _ in range(calls + 1)]
            marks[0].record()
            for mark in marks[1:]:
                step(*args)
                mark.record()
            torch.npu.synchronize()
            return statistics.fmean(a.elapsed_time(b) * 1e3 for a, b in zip(marks, marks[1:]))
        return runner
    return wrap


def parameters(layers, width):
    out = []
    for _ in range(layers):
        weight = torch.nn.Parameter(torch.randn(width, width, device="npu"))
        weight.grad = torch.randn_like(weight)
        out.append(weight)
    return out


@timed()
def sgd_step(optimizer):
    optimizer.step()


def main():
    torch.manual_seed(1)
    for layers, width in ((4, 128), (8, 256), (12, 256)):
        optimizer = torch.optim.SGD(parameters(layers, width), lr=1e-3, momentum=0.9, foreach=True)
        us = sgd_step(optimizer)
        log.info("SGD.step with momentum, %2d matrices of %d x %d float32: %.1f us", layers, width, width, us)


if __name__ == "__main__":
    main()
