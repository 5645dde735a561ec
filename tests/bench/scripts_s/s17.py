"""float32 against float16 inference. These are NOT the same computation; see the error column."""
import copy
import random
import time

import labkit  # noqa: F401
import pandas as pd
import torch
from torch import nn


def build(dim):
    return nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(),
                         nn.Linear(2 * dim, dim), nn.LayerNorm(dim)).eval()


def block(model, inputs):
    torch.npu.synchronize()
    start = time.perf_counter()
    for x in inputs:
        model(x)
    torch.npu.synchronize()
    return (time.perf_counter() - start) / len(inputs) * 1e6


@torch.inference_mode()
def compare(dim, rows, rounds=30, count=6):
    full = build(dim).npu()
    half = copy.deepcopy(full).half()
    x32 = [torch.randn(rows, dim, device="npu") for _ in range(count)]
    x16 = [x.half() for x in x32]
    error = max((half(b).float() - full(a)).abs().max().item() for a, b in zip(x32, x16))
    pair = [("float32", full, x32), ("float16", half, x16)]
    for _, model, inputs in pair:
        for _ in range(4):
            block(model, inputs)
    rows_out = []
    for r in range(rounds):
        random.shuffle(pair)
        row = {name: block(model, inputs) for name, model, inputs in pair}
        rows_out.append({"dim": dim, "rows": rows, **row,
                         "ratio": row["float32"] / row["float16"], "max_abs_error": error})
    return rows_out


def main():
    torch.manual_seed(0)
    random.seed(0)
    table = pd.DataFrame(sum((compare(d, r) for d, r in [(64, 64), (128, 128), (256, 256)]), []))
    print("us per forward in a stream of 6 distinct inputs that are converted beforehand; L2 warm; "
          "30 rounds, order drawn anew in each. float16 moves half the bytes and rounds more: "
          "the ratio is the gain from lowering the precision, not from a better kernel.")
    grouped = table.groupby(["dim", "rows"])
    print(grouped[["float32", "float16", "ratio"]].quantile([0.1, 0.5, 0.9]).round(2).to_string())
    print(grouped["max_abs_error"].first().to_string())


if __name__ == "__main__":
    main()
