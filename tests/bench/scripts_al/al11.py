"""Row gather, two spellings: torch.index_select(x, 0, i) and x[i]. Same result, bit by bit; which one is faster where?"""
import time

import torch
import torch_npu

flush_size = torch.npu.get_device_properties(0).L2_cache_size + (16 << 20)


def make_case(rows, width, picks, dtype=torch.float16):
    table = torch.randn(rows, width, dtype=dtype, device="npu")
    indices = [torch.randint(rows, (picks,), device="npu") for _ in range(6)]
    flush = torch.zeros(flush_size, dtype=torch.uint8, device="npu")

    def select(i):
        return torch.index_select(table, 0, i)

    def bracket(i):
        return table[i]

    def clocked(op):
        def one(turn):
            i = indices[turn % len(indices)]
            flush.fill_(turn % 200)
            torch.npu.synchronize()
            t0 = time.perf_counter()
            op(i)
            torch.npu.synchronize()
            return (time.perf_counter() - t0) * 1e6

        return one

    same = all(torch.equal(select(i).cpu(), bracket(i).cpu()) for i in indices)
    return {"index_select": clocked(select), "x[i]": clocked(bracket)}, same


def compare(runs, rounds=20, warm=3):
    seen = {name: [] for name in runs}
    for turn in range(warm + rounds):
        order = list(runs.items())
        if turn & 1:
            order.reverse()
        for name, run in order:
            us = run(turn)
            if turn >= warm:
                seen[name].append(us)
    return {name: sorted(us) for name, us in seen.items()}


print("gather of rows, fp16; us from call to result, L2 overwritten before each; order changes every round")
for rows, width, picks in [(1000, 64, 256), (20000, 512, 2048), (20000, 1024, 16384)]:
    runs, same = make_case(rows, width, picks)
    assert same
    result = compare(runs)
    print(f"{picks} of {rows} rows of {width} (results equal)")
    for name, us in result.items():
        n = len(us)
        print(f"    {name:<13} median {(us[n // 2] + us[(n - 1) // 2]) / 2:8.2f}   p10 {us[n // 10]:8.2f}   "
              f"p90 {us[-1 - n // 10]:8.2f}   n={n}")
    a, b = result.values()
    gap = max(a[0] - b[-1], b[0] - a[-1])
    print("    " + ("the ranges overlap: no winner at this shape" if gap <= 0 else
                    f"{'x[i]' if b[-1] < a[0] else 'index_select'} is faster in all samples at this shape"))
