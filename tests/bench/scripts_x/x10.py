import torch
import torch_npu

import pandas as pd

ROUNDS, CALLS = 5, 8


def triad(size_mib):
    elements = size_mib * (1 << 20) // 4
    b = torch.full((elements,), 2.0).npu()
    c = torch.full((elements,), 0.5).npu()
    a = torch.empty(elements).npu()

    def call():
        torch.add(b, c, alpha=3.0, out=a)

    return call, a


def measure(call):
    for _ in range(6):
        call()
    torch.npu.synchronize()
    times = []
    for _ in range(ROUNDS):
        begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        call()
        begin.record()
        for _ in range(CALLS):
            call()
        end.record()
        torch.npu.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3 / CALLS)
    return pd.Series(times)


def main():
    rows = []
    for size_mib in (16, 24, 32):
        call, a = triad(size_mib)
        seconds = measure(call)
        assert torch.all(a.cpu() == 3.5)
        rate = 3 * size_mib * (1 << 20) / seconds / 1e9
        rows.append({"array MiB": size_mib, "median us": seconds.median() * 1e6, "GB/s low": rate.min(),
                     "GB/s median": rate.median(), "GB/s high": rate.max()})
    table = pd.DataFrame(rows)
    print(f"STREAM triad a = b + 3 c, float32, {ROUNDS} rounds of {CALLS} calls by device events, three arrays counted")
    print(table.to_string(index=False, float_format=lambda v: f"{v:,.1f}"))
    for row in rows:
        print(f"HBM bandwidth of this card with arrays of {row['array MiB']} MiB: {row['GB/s median']:,.0f} GB/s "
              f"({row['GB/s low']:,.0f} to {row['GB/s high']:,.0f})")


if __name__ == "__main__":
    main()
