"""Gated activation: silu(gate) * up as two operators against npu_swiglu in one."""
import json
import statistics as st

import torch
import torch.nn.functional as F
import torch_npu

SHAPES = [(128, 2048), (256, 2048), (512, 2816)]
CALLS, ROUNDS = 10, 6


def elapsed_us(fn, calls):
    a = torch.npu.Event(enable_timing=True)
    b = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    a.record()
    for _ in range(calls):
        fn()
    b.record()
    torch.npu.synchronize()
    return a.elapsed_time(b) * 1e3 / calls


def case(tokens, width):
    torch.manual_seed(tokens + width)
    joint = torch.randn(tokens, 2 * width).half().npu()
    gate, up = (half.contiguous() for half in joint.chunk(2, dim=-1))
    two = lambda: F.silu(gate) * up
    one = lambda: torch_npu.npu_swiglu(joint, dim=-1)

    first = {"two_ops": elapsed_us(two, 1), "swiglu": elapsed_us(one, 1)}
    torch.testing.assert_close(two().float().cpu(), one().float().cpu(), rtol=5e-3, atol=5e-3)
    for fn in (two, one):
        elapsed_us(fn, CALLS)

    got = {"two_ops": [], "swiglu": []}
    for turn in range(ROUNDS):
        order = [("two_ops", two), ("swiglu", one)]
        for name, fn in order if turn % 2 == 0 else reversed(order):
            got[name].append(elapsed_us(fn, CALLS))
    report = {"tokens": tokens, "width": width}
    for name, us in got.items():
        report[name] = {"first_call_us": round(first[name], 1), "steady_median_us": round(st.median(us), 2),
                        "steady_min_us": round(min(us), 2), "steady_max_us": round(max(us), 2)}
    apart = min(got["two_ops"]) > max(got["swiglu"]) or min(got["swiglu"]) > max(got["two_ops"])
    report["two_ops_over_swiglu"] = round(st.median(got["two_ops"]) / st.median(got["swiglu"]), 2) if apart else None
    return report


print(json.dumps({
    "device": torch.npu.get_device_name(0),
    "dtype": "float16",
    "note": f"{ROUNDS} alternating rounds of {CALLS} calls; each round starts with an empty queue; "
            "first_call_us is one call on its own and not part of the steady figures; "
            "the ratio is null where the ranges overlap; inputs are reused, each side has them in its own layout",
    "cases": [case(*shape) for shape in SHAPES],
}, indent=2))
