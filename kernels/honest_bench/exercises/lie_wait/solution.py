"""Samples of device time."""
import torch


def samples(work, count):
    """The time of each of `count` calls of work(), in microseconds of the device, with one wait in all:
    a list or an array."""
    pairs = []
    for _ in range(count):
        before = torch.npu.Event(enable_timing=True)
        after = torch.npu.Event(enable_timing=True)
        # >>> exercise: time one call without waiting for it | 给一次调用计时，但不等待它
        # stub: work()
        before.record()
        work()
        after.record()
        pairs.append((before, after))
        # <<<
    torch.npu.synchronize()
    # >>> exercise: the samples in microseconds | 以微秒为单位的样本
    # stub: return []
    return [1000 * a.elapsed_time(b) for a, b in pairs]
    # <<<
