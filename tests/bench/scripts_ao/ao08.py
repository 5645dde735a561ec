import statistics as st
import time

import torch
import torch_npu

side = torch.npu.Stream()
N_SAMPLES = 25


def sort_samples(data):
    """Seconds per sort of each row set; the sorts run on a stream of their own."""
    out = []
    for x in data:
        torch.npu.synchronize()
        tic = time.perf_counter()
        with torch.npu.stream(side):
            values, indices = torch.sort(x, dim=-1)
        torch.npu.current_stream().synchronize()
        out.append(time.perf_counter() - tic)
        values.record_stream(side), indices.record_stream(side)
    return out


def describe(us):
    q = st.quantiles(us, n=10)
    return (f"median {st.median(us):.2f} us, mean {st.fmean(us):.2f} us, stdev {st.stdev(us):.2f}, "
            f"deciles {q[0]:.2f} .. {q[-1]:.2f}")


for rows, cols in [(16, 512), (64, 1024), (128, 2048)]:
    fresh = [torch.randn(rows, cols, device="npu") for _ in range(N_SAMPLES)]
    ref = torch.sort(fresh[0].cpu(), dim=-1).values
    torch.npu.synchronize()
    with torch.npu.stream(side):
        for _ in range(5):
            values, _ = torch.sort(fresh[0], dim=-1)
    torch.npu.synchronize()
    assert torch.equal(values.cpu(), ref)
    us = [1e6 * s for s in sort_samples(fresh)]
    keys = rows * cols
    print(f"sort of {rows} rows x {cols} fp32 keys (time to sorted result, {len(us)} different inputs): {describe(us)}; "
          f"{keys / st.median(us) / 1e3:.2f} Gkeys/s")
