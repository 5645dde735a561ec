"""Chunks to the device, through a kernel, and back, with the copies at the same time as the work."""
import torch

FACTOR = 1.5


def pipeline(axpy, sources, sums, results, streams):
    """For each chunk: sources[i] (pinned) to the device, axpy(x, sums[i], FACTOR, n) there, sums[i] back to results[i] (pinned).

    Returns when the results are there.
    """
    # >>> exercise: each chunk's three steps on one of the `streams`, however many there are, by turns, none of which makes the host wait; one wait for the device at the end | 每块的三个步骤放到 `streams`（个数不定）中轮流选出的一个流上，都不让主机等待；最后只对设备等待一次
    # stub: for i, source in enumerate(sources):
    # stub:     x = source.npu()
    # stub:     axpy(x, sums[i], FACTOR, source.numel())
    # stub:     results[i].copy_(sums[i])
    for i, source in enumerate(sources):
        with torch.npu.stream(streams[i % len(streams)]):
            x = source.to("npu", non_blocking=True)
            axpy(x, sums[i], FACTOR, source.numel())
            results[i].copy_(sums[i], non_blocking=True)
    torch.npu.synchronize()
    # <<<
