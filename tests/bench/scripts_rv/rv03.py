import json
import time

import torch
import torch_npu
import torch.nn.functional as F

torch.set_num_threads(1)
ROWS, COLS = 512, 768
CALLS, WINDOWS = 8, 32
Q = torch.tensor([0.5, 0.9], dtype=torch.float64)


def spread(samples):
    t = torch.tensor(samples, dtype=torch.float64)
    q50, q90 = torch.quantile(t, Q).tolist()
    return {"q50": round(q50, 3), "q90": round(q90, 3), "mean": round(t.mean().item(), 3)}


def window(fn):
    """(us a call between two events, us a call on the host's clock up to the end of the wait)"""
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    torch.npu.synchronize()
    tick = time.perf_counter()
    begin.record()
    for _ in range(CALLS):
        fn()
    end.record()
    torch.npu.synchronize()
    tock = time.perf_counter()
    return begin.elapsed_time(end) * 1e3 / CALLS, (tock - tick) * 1e6 / CALLS


def study(dtype):
    torch.manual_seed(2)
    x64, w64, b64 = torch.randn(ROWS, COLS).double(), torch.rand(COLS).double(), torch.randn(COLS).double()
    x, w, b = (t.to(dtype).to("npu") for t in (x64, w64, b64))
    reference = F.layer_norm(x.cpu().double(), (COLS,), w.cpu().double(), b.cpu().double())
    fn = lambda: F.layer_norm(x, (COLS,), w, b)
    worst = (fn().cpu().double() - reference).abs().max().item()
    for _ in range(10):
        fn()
    events, wall = zip(*(window(fn) for _ in range(WINDOWS)))
    return {
        "dtype": str(dtype).removeprefix("torch."),
        "worst_abs_error_against_float64": float(f"{worst:.2e}"),
        "us_per_call": {"by_device_events": spread(events), "by_host_clock_with_one_wait_per_window": spread(wall)},
    }


print(json.dumps({
    "operation": "layer_norm with weight and bias",
    "shape": [ROWS, COLS],
    "caches": "input stays in L2 from call to call",
    "sampling": f"{WINDOWS} windows of {CALLS} calls; a sample is the average of one window, the quantiles are over windows",
    "results": [study(d) for d in (torch.float16, torch.float32)],
}, indent=1))
