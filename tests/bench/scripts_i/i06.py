"""Sum of columns, with cleared caches: what a caller sees who comes from other work."""
import statistics
import torch
import torch_npu

for rows in (1000, 4000):
    x = torch.ones(rows, 1024, device="npu")
    flush = torch.empty(1 << 20, device="npu")  # clears the cache
    f = lambda: x.sum(0)
    for _ in range(5):
        f(), flush.zero_()
    ev = []
    for _ in range(25):
        flush.zero_()
        s, e = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        s.record()
        f()
        e.record()
        ev.append((s, e))
    torch.npu.synchronize()
    q = statistics.quantiles([s.elapsed_time(e) * 1e3 for s, e in ev], n=4)
    print(f"sum(0) of {rows} x 1024, cold cache: quartiles", [round(v, 2) for v in q], "us")
