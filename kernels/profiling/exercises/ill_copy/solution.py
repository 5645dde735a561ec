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
    for number in range(len(batches)):
        following = batches[number + 1] if number + 1 < len(batches) else None
        # >>> exercise: make the current stream wait for the copy, then let `following` travel, if there is one | 让当前 stream 等待拷贝，然后让 `following`（若有）上路
        # stub: here, arriving = arriving, None
        torch.npu.current_stream().wait_stream(side)
        here, arriving = arriving, None if following is None else fetch(following)
        # <<<
        results.append(work(here))
        if arriving is None and following is not None:
            arriving = fetch(following)  # as late as this, the device has nothing to do meanwhile
    return results
