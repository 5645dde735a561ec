"""AdamW: foreach implementation against the plain loop, many small parameters."""
import json
import statistics
import time

import torch
import torch_npu  # noqa: F401

SHAPES = [(64, 64), (64,), (128, 64), (128,), (64, 128), (64,)] * 3
ROUNDS, STEPS = 8, 4


def build(foreach):
    torch.manual_seed(11)
    params = [torch.nn.Parameter(torch.randn(s).npu()) for s in SHAPES]
    for p in params:
        p.grad = torch.full_like(p, 0.01)
    return torch.optim.AdamW(params, lr=1e-3, weight_decay=0.01, foreach=foreach), params


def clock(opt, steps):
    torch.npu.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        opt.step()
    torch.npu.synchronize()
    return (time.perf_counter() - start) / steps * 1e3


def summary(values):
    return {"median": round(statistics.median(values), 3), "min": round(min(values), 3),
            "max": round(max(values), 3), "n": len(values)}


def main():
    torch.set_num_threads(1)
    sides = {"loop": build(False), "foreach": build(True)}

    # exp_avg and exp_avg_sq are made in the first step: kept apart
    first = {name: round(clock(opt, 1), 3) for name, (opt, _) in sides.items()}
    for opt, _ in sides.values():
        clock(opt, STEPS)

    laps = {name: [] for name in sides}
    for r in range(ROUNDS):
        for name in (("loop", "foreach") if r % 2 == 0 else ("foreach", "loop")):
            laps[name].append(clock(sides[name][0], STEPS))

    same = all(torch.allclose(a, b, atol=1e-5) for a, b in zip(sides["loop"][1], sides["foreach"][1]))
    ahead, behind = sorted(laps, key=lambda k: statistics.median(laps[k]))
    apart = max(laps[ahead]) < min(laps[behind])
    print(json.dumps({
        "bench": "AdamW.step, host wall clock",
        "tensors": len(SHAPES),
        "elements": sum(p.numel() for p in sides["loop"][1]),
        "steps_per_sample": STEPS,
        "first_step_ms, makes the state, loop ran before foreach": first,
        "ms_per_step": {name: summary(v) for name, v in laps.items()},
        "same_parameters_afterwards": same,
        "faster": ahead if apart else "undecided: the samples of the two overlap",
    }, indent=1))


if __name__ == "__main__":
    main()
