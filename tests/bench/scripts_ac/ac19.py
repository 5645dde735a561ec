"""bmm and einsum for the same contraction, by torch.utils.benchmark."""
import itertools
import random

import torch
import torch.utils.benchmark as benchmark
import torch_npu  # noqa: F401

STATEMENTS = {"bmm": "torch.bmm(a, b)", "einsum": "torch.einsum('bij,bjk->bik', a, b)"}
BLOCKS, CALLS = 8, 20


def measure(statement, a, b, label):
    timer = benchmark.Timer(stmt=statement, globals={"torch": torch, "a": a, "b": b}, label="contraction",
                            sub_label=label, description=statement)
    return timer.timeit(CALLS)


def main():
    torch.manual_seed(13)
    draw = random.Random(7)
    for batch, side in itertools.product((2, 8), (32, 96)):
        a = torch.randn(batch, side, side, device="npu")
        b = torch.randn(batch, side, side, device="npu")
        torch.testing.assert_close(torch.bmm(a, b).cpu(), torch.einsum("bij,bjk->bik", a, b).cpu())
        label = f"{batch}x{side}x{side}"
        for statement in STATEMENTS.values():
            measure(statement, a, b, label)
        found = {name: [] for name in STATEMENTS}
        for _ in range(BLOCKS):
            names = list(STATEMENTS)
            draw.shuffle(names)
            for name in names:
                found[name].append(measure(STATEMENTS[name], a, b, label))
        for name, parts in found.items():
            (merged,) = benchmark.Measurement.merge(parts)
            us = sorted(t * 1e6 for t in merged.times)
            print(f"{label:9s} {name:7s} median {merged.median * 1e6:8.2f} us a call  IQR {merged.iqr * 1e6:6.2f}  "
                  f"[{us[0]:.2f}, {us[-1]:.2f}]  {len(us)} blocks of {CALLS} calls")


if __name__ == "__main__":
    main()
