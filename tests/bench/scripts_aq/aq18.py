"""index_select on a side stream, timed with events."""
import statistics

import torch
import torch_npu

REPEATS = 30
work = torch.npu.Stream()


def sample(table, index):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    begin.record()
    with torch.npu.stream(work):
        for _ in range(10):
            torch.index_select(table, 0, index)
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / 10


for rows, width, picks in [(2000, 128, 1000), (4000, 256, 2000), (4000, 512, 4000)]:
    table = torch.randn(rows, width, device="npu")
    indices = [torch.randint(0, rows, (picks,)).to("npu") for _ in range(4)]
    got = torch.index_select(table, 0, indices[0]).cpu()
    assert torch.equal(got, table.cpu()[indices[0].cpu()])
    for index in indices * 2:
        sample(table, index)
    us = [sample(table, indices[i % 4]) for i in range(REPEATS)]
    torch.npu.synchronize()
    q = statistics.quantiles(us, n=10)
    print(f"index_select of {picks} rows from {rows} x {width} fp32: median {statistics.median(us):.2f} us, "
          f"p10 {q[0]:.2f}, p90 {q[-1]:.2f} us per call ({REPEATS} samples of 10 calls)")
print("Device time per index_select by events, until the rows are there; table hot in L2.")
