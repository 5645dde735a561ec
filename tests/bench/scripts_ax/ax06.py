"""LayerNorm written out, eager and through torch.compile.  Prints JSON.

The function is compiled for each shape of the list ahead of all timing; `compile_and_first_run_s` says what that took.
"""
import json
import statistics
import time

import torch
import torch_npu

torch.set_num_threads(1)
SHAPES = [(64, 512), (32, 768)]
CALLS, SAMPLES = 5, 11


def norm(x, weight, bias):
    centred = x - x.mean(-1, keepdim=True)
    scale = torch.rsqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)
    return centred * scale * weight + bias


fast_norm = torch.compile(norm, dynamic=False)


def arguments(rows, hidden):
    return (
        torch.randn(rows, hidden, device="npu"),
        torch.rand(hidden, device="npu"),
        torch.rand(hidden, device="npu"),
    )


def sample(function, inputs):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(CALLS):
        function(*inputs)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / CALLS * 1e6


def summary(us):
    q1, q2, q3 = statistics.quantiles(us, n=4)
    return {"median_us": round(q2, 1), "q1_us": round(q1, 1), "q3_us": round(q3, 1)}


def main():
    inputs = {shape: arguments(*shape) for shape in SHAPES}
    rows = []
    for shape in SHAPES:
        t0 = time.perf_counter()
        got = fast_norm(*inputs[shape])
        torch.npu.synchronize()
        built = time.perf_counter() - t0
        assert torch.allclose(got, norm(*inputs[shape]), atol=1e-4)
        rows.append({"shape": list(shape), "compile_and_first_run_s": round(built, 2)})

    for row, shape in zip(rows, SHAPES):
        for function in (norm, fast_norm):
            sample(function, inputs[shape])
        eager, compiled = [], []
        for turn in range(SAMPLES):
            pair = [(norm, eager), (fast_norm, compiled)]
            for function, into in pair[:: 1 if turn % 2 else -1]:
                into.append(sample(function, inputs[shape]))
        row["eager"], row["compiled"] = summary(eager), summary(compiled)
        saved = statistics.median(eager) - statistics.median(compiled)
        clear = row["compiled"]["q3_us"] < row["eager"]["q1_us"]
        row["calls_until_compiling_has_paid"] = round(row["compile_and_first_run_s"] * 1e6 / saved) if clear else None

    print(json.dumps({
        "dtype": "float32",
        "figure": "wall time of a block of calls with one wait behind it, per call; compiling (with whatever inductor's disk cache has) is only in compile_and_first_run_s",
        "calls_per_block": CALLS,
        "blocks": SAMPLES,
        "rows": rows,
    }, indent=2))


main()
