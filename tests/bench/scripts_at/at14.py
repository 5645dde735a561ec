"""AdamW.step(): one launch per parameter and operation, against foreach lists."""
import statistics

import torch
import torch_npu

SIZES = [(128, 128)] * 3 + [(128,)] * 5
STEPS = 5
ROUNDS = 5


def parameters():
    gen = torch.Generator().manual_seed(21)
    params = []
    for size in SIZES:
        p = torch.nn.Parameter(torch.randn(*size, generator=gen).npu())
        p.grad = torch.randn(*size, generator=gen).npu() * 1e-3
        params.append(p)
    return params


def stream_us(opt):
    begin = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    begin.record()
    for _ in range(STEPS):
        opt.step()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / STEPS


def main():
    sides = {}
    for label, foreach in (("single tensor", False), ("foreach", True)):
        params = parameters()
        sides[label] = (params, torch.optim.AdamW(params, lr=1e-3, weight_decay=0.01, foreach=foreach))

    # exp_avg and exp_avg_sq are allocated in the first step
    for params, opt in sides.values():
        opt.step()
        opt.step()
    torch.npu.synchronize()

    spans = {label: [] for label in sides}
    labels = list(sides)
    for r in range(ROUNDS):
        for label in labels[::-1] if r % 2 else labels:
            spans[label].append(stream_us(sides[label][1]))

    left, right = (sides[label][0] for label in labels)
    drift = max((p - q).abs().max().item() for p, q in zip(left, right))
    count = sum(p.numel() for p in left)

    print(f"## AdamW.step, {len(SIZES)} tensors, {count} fp32 parameters\n")
    print("| implementation | us per step, median | range |")
    print("|---|---:|---:|")
    for label in labels:
        v = spans[label]
        print(f"| {label} | {statistics.median(v):.0f} | {min(v):.0f} - {max(v):.0f} |")
    print(f"\n{ROUNDS} rounds of {STEPS} steps, order swapped each round. Only `step()` is timed: gradients are fixed,")
    print("no backward, no `zero_grad`. The span on the stream includes gaps in which the device waits for the")
    print(f"host. After all rounds the two sets of parameters differ by at most {drift:.1e}.")


if __name__ == "__main__":
    main()
