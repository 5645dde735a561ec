"""Adam or AdamW: which step costs more on the NPU? 64 parameters of 32 x 32, float32. Prints JSON."""
import json
import statistics

import torch
import torch_npu  # noqa: F401

SHAPE, COUNT, STEPS = (32, 32), 64, 400


def make(kind):
    torch.manual_seed(1)
    parameters = [torch.nn.Parameter(torch.rand(SHAPE).npu()) for _ in range(COUNT)]
    for p in parameters:
        p.grad = torch.rand(SHAPE).npu()
    return kind(parameters, lr=1e-3, weight_decay=0.01)


def sample(optimizer, steps):
    marks = [(torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)) for _ in range(steps)]
    for start, end in marks:
        start.record()
        optimizer.step()
        end.record()
    torch.npu.synchronize()
    return [1e3 * start.elapsed_time(end) for start, end in marks]


def describe(us):
    deciles = statistics.quantiles(us, n=10)
    return {"p10_us": round(deciles[0], 1), "p50_us": round(statistics.median(us), 1),
            "p90_us": round(deciles[-1], 1), "samples": len(us)}


def main():
    optimizers = {"Adam": make(torch.optim.Adam), "AdamW": make(torch.optim.AdamW)}
    for optimizer in optimizers.values():
        sample(optimizer, 5)
    report = {name: describe(sample(optimizer, STEPS)) for name, optimizer in optimizers.items()}
    ratio = report["AdamW"]["p50_us"] / report["Adam"]["p50_us"]
    report["setting"] = f"{COUNT} parameters of {SHAPE[0]} x {SHAPE[1]}, float32, foreach, L2 warm"
    report["ratio"] = round(ratio, 3)
    if abs(ratio - 1) < 0.02:
        report["conclusion"] = "Adam and AdamW cost the same here"
    else:
        report["conclusion"] = f"in this setting a step of AdamW takes {100 * (ratio - 1):+.0f} % against Adam"
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
