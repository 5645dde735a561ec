"""One stream copies, another computes; events join them."""
import torch

FACTOR = 1.5


def two_roles(axpy, sources, sums, copying, computing):
    """Each chunk is copied on the stream `copying` and added by axpy on the stream `computing`, as soon as it is there."""
    for source, total in zip(sources, sums):
        arrived = torch.npu.Event()
        with torch.npu.stream(copying):
            x = source.to("npu", non_blocking=True)
        # >>> exercise: `computing` does this chunk after its copy; the host waits for nothing | `computing` 在这一块的复制之后再处理它；主机什么都不等
        # stub: computing.wait_event(arrived)
        arrived.record(copying)
        computing.wait_event(arrived)
        # <<<
        with torch.npu.stream(computing):
            axpy(x, total, FACTOR, source.numel())
    torch.npu.synchronize()
