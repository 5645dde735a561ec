"""Batches that arrive while the device works."""
import torch


def run(batches, work):
    """[work(batch on the npu) for each batch]: batches are pinned tensors of the host."""
    side, results = torch.npu.Stream(), []

    def fetch(batch):
        # >>> exercise: copy `batch` to the npu on `side`, without waiting | 在 `side` 上把 `batch` 拷到 npu，不等待
        # stub: arriving = batch.npu()
        with torch.npu.stream(side):
            arriving = batch.npu(non_blocking=True)
        # <<<
        return arriving

    arriving = fetch(batches[0])
    for following in [*batches[1:], None]:
        # >>> exercise: make the current stream wait for the copy | 让当前 stream 等待拷贝
        torch.npu.current_stream().wait_stream(side)
        # <<<
        here, arriving = arriving, None if following is None else fetch(following)
        here.record_stream(torch.npu.current_stream())  # side's memory, kept until this stream has read it
        results.append(work(here))
    return results
