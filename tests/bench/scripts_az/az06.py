"""Cast of fp32 master weights to each half type: a sweep over target dtypes.

Every round starts from weights that are not in the cache, as after an optimizer step of a large model.
"""
import json
import statistics

import torch
import torch_npu

SHAPE = (2048, 2048)
ROUNDS = 20
TARGETS = {"float16": torch.float16, "bfloat16": torch.bfloat16}

torch.manual_seed(3)
torch.set_num_threads(1)
master = torch.randn(*SHAPE, device="npu")
scratch = torch.empty(256 * 1024 * 1024, dtype=torch.uint8, device="npu")


def flush():
    scratch.zero_()
    torch.npu.synchronize()


def one(dtype):
    a = torch.npu.Event(enable_timing=True)
    b = torch.npu.Event(enable_timing=True)
    a.record()
    master.to(dtype)
    b.record()
    torch.npu.synchronize()
    return a.elapsed_time(b) * 1e3


for dtype in TARGETS.values():
    for _ in range(3):
        one(dtype)

samples = {name: [] for name in TARGETS}
for _ in range(ROUNDS):
    flush()
    for name, dtype in TARGETS.items():
        samples[name].append(one(dtype))

report = {"op": "cast from float32", "shape": list(SHAPE), "rounds": ROUNDS, "results": {}}
for name, values in samples.items():
    q1, q2, q3 = statistics.quantiles(values, n=4)
    report["results"][name] = {
        "single_call_us_median": round(q2, 1),
        "single_call_us_iqr": [round(q1, 1), round(q3, 1)],
    }
med = {name: r["single_call_us_median"] for name, r in report["results"].items()}
fast = min(med, key=med.get)
slow = max(med, key=med.get)
report["verdict"] = f"casting this matrix to {fast} is {med[slow] / med[fast]:.2f}x as fast as to {slow}"
print(json.dumps(report, indent=1))
