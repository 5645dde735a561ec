"""Layer norm on a stream of its own, timed by events; warm L2."""
import torch
import torch_npu

side = torch.npu.Stream()
for rows, width in ((256, 1024), (1024, 4096)):
    x = torch.ones(rows, width, device="npu")
    f = lambda: torch.nn.functional.layer_norm(x, (width,))
    with torch.npu.stream(side):
        for _ in range(10):
            f()
    torch.npu.synchronize()
    pairs = []
    for _ in range(30):
        s, e = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        s.record()
        with torch.npu.stream(side):
            for _ in range(5):
                f()
        e.record()
        pairs.append((s, e))
    torch.npu.synchronize()
    us = torch.tensor([s.elapsed_time(e) * 200 for s, e in pairs])
    print(rows, width, "us a call, quantiles", torch.quantile(us, torch.tensor([0.1, 0.5, 0.9])).tolist())
