"""Inductor's kernels beside our hand-written ones on the clock: softmax, GELU (tanh) with a bias, LayerNorm with GELU.

    python scripts/inductor_times.py [--write]        # --write: data/inductor_times.csv

The cases are CASES below, stated before the run. Times are modelled: one launch of the hand-written kernel on 48
blocks, and the launches of one call of the compiled function, each the second of its kind, so that the L2 holds the
tensors.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path

import torch
import triton  # noqa: F401, I001 - before our driver, which it looks for
from torch.nn import functional as F

import labkit
from labkit.triton import driver

REPO = Path(__file__).resolve().parents[1]
FILES = {
    "softmax": ("softmax/softmax.asc", "softmax_rows<{}>"),
    "bias_gelu": ("bias_gelu/bias_gelu.asc", "bias_gelu<{}>"),
    "layer_norm_gelu": ("layer_norm_gelu/layer_norm_gelu.asc", "layer_norm_gelu<{}>"),
}
FUNCTIONS = {
    "softmax": lambda x: torch.softmax(x, -1),
    "bias_gelu": lambda x, b: F.gelu(x + b, approximate="tanh"),
    "layer_norm_gelu": lambda x, w, b: F.gelu(F.layer_norm(x, x.shape[-1:], w, b), approximate="tanh"),
}
CASES = [
    (name, rows, width, dtype)
    for name in FUNCTIONS
    for rows, width in ((64, 500), (512, 768), (512, 3072))
    for dtype in (torch.float32, torch.float16)
]


def exact(*shape, dtype):
    generator = torch.Generator().manual_seed(sum(shape))
    return (torch.randint(-24, 25, shape, generator=generator) / 8).to(dtype)


def by_hand(name, rows, width, dtype, given) -> tuple[float, torch.Tensor]:
    file, entry = FILES[name]
    made = labkit.kernel(REPO / "kernels" / file, entry=entry.format("float" if dtype == torch.float32 else "half"))
    y = torch.empty_like(given[0])
    tail = {
        "softmax": (y, rows, width),
        "bias_gelu": (y, rows, width, width),
        "layer_norm_gelu": (y, torch.empty(rows).npu(), torch.empty(rows).npu(), rows, width, width, 1e-5),
    }[name]
    made[48](*given, *tail)
    return made[48](*given, *tail).time_us, y.cpu()


def by_inductor(name, given) -> tuple[float, torch.Tensor]:
    torch._dynamo.reset()
    compiled = torch.compile(FUNCTIONS[name])
    compiled(*given)
    with driver.recording() as launched:
        y = compiled(*given)
    return sum(r.time_us for r in launched), y.cpu()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows_out = []
    for name, rows, width, dtype in CASES:
        given = [exact(rows, width, dtype=dtype)] + [exact(width + i, dtype=dtype)[:width] for i in (0, 1)]
        given = [t.npu() for t in given[: {"softmax": 1, "bias_gelu": 2, "layer_norm_gelu": 3}[name]]]
        hand, want = by_hand(name, rows, width, dtype, given)
        ours, got = by_inductor(name, given)
        within = float((got.float() - want.float()).abs().max()) < (1e-4 if dtype == torch.float32 else 2e-2)
        rows_out.append({
            "kernel": name, "rows": rows, "width": width, "dtype": str(dtype)[6:], "hand_us": round(hand, 2),
            "inductor_us": round(ours, 2), "ratio": round(ours / hand, 2), "same_numbers": "yes" if within else "no",
        })  # fmt: skip
        print(rows_out[-1], flush=True)
    most = max(r["ratio"] for r in rows_out)
    print(f"{sum(r['ratio'] <= 1.5 for r in rows_out)} of {len(rows_out)} within 1.5 times; at most {most} times")
    if args.write:
        with open(REPO / "data" / "inductor_times.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows_out[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows_out)


if __name__ == "__main__":
    main()
