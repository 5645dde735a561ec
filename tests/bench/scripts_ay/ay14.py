"""scatter_add_ of token gradients into an embedding gradient, device time from events, JSON lines.

A call starts from an empty gradient each time, so the buffer is cleared before each scatter_add_.
The figure `clear_and_scatter_us` holds both; the clearing on its own is measured as `clear_us`
so that a reader can see its share.
"""
import json

import torch
import torch_npu

CASES = [
    dict(vocab=4096, tokens=1024, dim=512),
    dict(vocab=8192, tokens=1024, dim=512),
    dict(vocab=4096, tokens=2048, dim=768),
]
CALLS, SAMPLES = 5, 5


def per_call_us(fn):
    for _ in range(3):
        fn()
    marks = [torch.npu.Event(enable_timing=True) for _ in range(2 * SAMPLES)]
    torch.npu.synchronize()
    for start, stop in zip(marks[::2], marks[1::2]):
        start.record()
        for _ in range(CALLS):
            fn()
        stop.record()
    torch.npu.synchronize()
    values = sorted(a.elapsed_time(b) / CALLS * 1e3 for a, b in zip(marks[::2], marks[1::2]))
    return {"median": round(values[SAMPLES // 2], 1), "min": round(values[0], 1), "max": round(values[-1], 1)}


for case in CASES:
    torch.manual_seed(5)
    rows = torch.randint(0, case["vocab"], (case["tokens"], 1)).expand(-1, case["dim"]).contiguous().npu()
    update = torch.randn(case["tokens"], case["dim"]).npu()
    grad = torch.empty(case["vocab"], case["dim"], device="npu")

    def clear_and_scatter():
        grad.zero_()
        grad.scatter_add_(0, rows, update)

    clear_and_scatter()
    want = torch.zeros(case["vocab"], case["dim"]).scatter_add_(0, rows.cpu(), update.cpu())
    assert torch.allclose(grad.cpu(), want, atol=1e-4)
    print(json.dumps({**case, "dtype": "float32", "index": "int64, uniform", "samples": SAMPLES, "calls_per_sample": CALLS,
                      "clear_and_scatter_us": per_call_us(clear_and_scatter), "clear_us": per_call_us(grad.zero_),
                      "device": torch.npu.get_device_name(0)}))
