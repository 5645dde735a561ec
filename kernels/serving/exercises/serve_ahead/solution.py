"""Copies beside computation."""

import torch


def overlapped(inputs, work):
    """work(x) of each pinned input on the npu. When work(x) is called, the next input has been sent for, and none behind
    it: each takes memory."""
    side, made = torch.npu.Stream(), []

    def send(x):
        with torch.npu.stream(side):
            there, copied = x.to("npu", non_blocking=True), side.record_event()
        there.record_stream(torch.npu.current_stream())  # side's memory: nobody else's before this stream has read it
        return there, copied

    coming = send(inputs[0])
    for i in range(len(inputs)):
        x, there = coming
        # >>> exercise: send for the next input, if there is one; let this stream, not the host, wait for x | 若有下一个输入就先发起拷贝；让当前 stream（而不是 host）等待 x
        # stub: there.synchronize()
        if i + 1 < len(inputs):
            coming = send(inputs[i + 1])
        torch.npu.current_stream().wait_event(there)
        # <<<
        made.append(work(x))
    return made
