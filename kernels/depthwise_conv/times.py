"""What the steps of the depthwise convolution take on the modelled clock, and what bounds them, in a table.

    python kernels/depthwise_conv/times.py                 # measures and prints, minutes
    python kernels/depthwise_conv/times.py --write         # and brings the table up to date
    python kernels/depthwise_conv/times.py --write "4 cube" dx   # these ways only; the other rows stay
    python kernels/depthwise_conv/times.py --readme        # only the committed table, as kernels/README.md has it

The table is data/depthwise_conv.csv. It begins with an empty L2. `us` is all that a call launches, on tensors in
channels_last (steps 0 and 1: as they lie in NCHW); of it `fold_us` is the second launch of dweight, which adds up
what the cores of the first have left. `bound_us` is the memory bound: x once in and y once out (for dweight: x and dy
in) at what HBM gives the chip, gm.hbm of labkit/twin/chips/910B1.toml. `share` is bound_us / us; it exceeds 1 where
the results stay in the L2, which has 192 MB, and are written back to HBM after the launch. `vector_us` is what the
vector units need at least in float, all 48 of them, every repeat of 64 lanes full: for each tap a product and a sum,
and the casts of 16-bit types. All modelled; nothing was measured.
"""

from __future__ import annotations

import csv
import importlib.util
import re
import sys
from pathlib import Path

import torch

import labkit
from labkit import chips, paths

_SPEC = importlib.util.spec_from_file_location("golden_depthwise_conv", Path(__file__).with_name("golden.py"))
golden = importlib.util.module_from_spec(_SPEC)  # this folder's; there are others of the name
_SPEC.loader.exec_module(golden)

SHAPES = ((1, 32, 224, 224), (16, 256, 56, 56), (32, 512, 28, 28), (64, 1024, 14, 14))
TYPES = {"float16": "half", "bfloat16": "bfloat16_t", "float32": "float"}
STEPS = ("0 direct", "1 rows in UB", "2 channels on the lanes", "3 many rows, two buffers", "4 cube")
WAYS = (*STEPS, "dx", "dweight")  # dx: the gradient for x, by the best step that takes the type
FIELDS = ("type", "shape", "way", "us", "bound_us", "share", "vector_us", "bound_by", "fold_us")
TABLE = paths.data_dir() / "depthwise_conv.csv"
_WORDS = {
    "hbm": "HBM",
    "l2": "the L2",
    "mte2": "each core's way in from GM",
    "mte3": "each core's way out to GM",
    "vector": "the vector unit",
    "startup": "starting vector instructions",
    "banks": "banks of UB",
    "l0": "the way into L0",
    "cube": "the cube",
    "order": "waiting in turn",
    "launch": "starting and ending the task",
    "scalar": "the scalar unit",
    "transfers": "many small transfers",
    "imbalance": "the last core",
}


def kernel(name: str, dtype: str, step: int | None = None, **how):
    """The kernel of a type and step."""
    entry = f"{name}<{TYPES[dtype]}{'' if step is None else f', {step}'}>"
    file = paths.kernels_dir() / "depthwise_conv" / f"{name}.asc"
    given = {"filename": str(file)} if "text" in how else {"path": file}  # text: stands in for what the file holds
    return labkit.kernel(**given, entry=entry, **how)


def bound_us(shape, dtype: str) -> float:
    """The memory bound of a convolution that keeps the shape, and of its gradients."""
    size = torch.Size(shape).numel() * getattr(torch, dtype).itemsize
    return 2 * size / chips.flat("910B1")["gm.hbm"] * 1e6


def vector_us(shape, dtype: str, way: str, taps: int = 9) -> float:
    """What V needs at least: see above."""
    chip = chips.flat("910B1")
    casts = 0 if dtype == "float32" else 2
    repeats = torch.Size(shape).numel() / 64 * (2 * taps - (way != "dweight") + casts)
    return repeats / chip["cores.aiv"] / chip["clock.hz"] * 1e6


def launched(shape, dtype: str, way: str, **how):
    """(record, the record of the launch that follows or None) of one way: 3 x 3, stride 1, padding 1."""
    labkit.device.install()
    labkit.clear_l2()
    how = {"timing_only": True, "timeout": 600} | how
    n, c, _, _ = shape
    kind, count = getattr(torch, dtype), torch.Size(shape).numel()
    x, y = (torch.empty(count, dtype=kind, device="npu") for _ in range(2))
    weight, conv = torch.empty(c * 9, dtype=kind, device="npu"), golden.conv(shape, 3, padding=1)
    if way == "dweight":
        cube = dtype != "float32"
        plan = golden.cube_plan(conv, gradient=True) if cube else (max(1, golden.VECTORS // -(-c // 64)),)
        parts = torch.empty(plan[-1] * 9 * c * (16 if cube else 1), device="npu")
        name, blocks = (
            ("depthwise_conv_weight_cube", golden.CUBES) if cube else ("depthwise_conv_weight", golden.VECTORS)
        )
        first = kernel(name, dtype, **how)[blocks](y, x, parts, conv, *plan)
        fold = kernel("depthwise_conv_weight_fold", dtype, **how)[min(golden.VECTORS, -(-c // 16) * 9)]
        return first, fold(parts, weight, c, 9, plan[-1], int(cube))
    if way == "dx":
        conv = golden.conv_of_gradient(shape, 3, padding=1)
        way = STEPS[3] if dtype == "float32" else STEPS[4]
    if way == STEPS[4]:
        return kernel("depthwise_conv_cube", dtype, **how)[golden.CUBES](
            x, weight, weight, y, conv, *golden.cube_plan(conv)
        ), None
    return kernel("depthwise_conv", dtype, STEPS.index(way), **how)[golden.VECTORS](x, weight, weight, y, conv), None


def measure(shape, dtype: str, way: str) -> dict:
    """One row of the table."""
    record, after = launched(shape, dtype, way)
    assert all(r.ok and not r.extrapolated for r in (record, after) if r), (record, after)
    bound, fold = bound_us(shape, dtype), after.time_us if after else 0.0
    return {
        "type": dtype,
        "shape": "x".join(map(str, shape)),
        "way": way,
        "us": record.time_us + fold,
        "bound_us": bound,
        "share": bound / (record.time_us + fold),
        "vector_us": vector_us(shape, dtype, way),
        "bound_by": labkit.explain(record).bound.kind,
        "fold_us": fold,
    }


def rows(ways=WAYS):
    """All rows, those of other ways as the table has them; the cube takes no float32."""
    kept = {(r["type"], r["shape"], r["way"]): r for r in load()} if set(ways) != set(WAYS) else {}
    for dtype in TYPES:
        for shape in SHAPES:
            for way in WAYS:
                if way == STEPS[4] and dtype == "float32":
                    continue
                yield measure(shape, dtype, way) if way in ways else kept[dtype, "x".join(map(str, shape)), way]


def load() -> list[dict]:
    """The committed table, numbers as numbers."""
    with open(TABLE, encoding="utf-8", newline="") as file:
        return [
            {k: float(v) if re.fullmatch(r"[\d.]+", v) else v for k, v in row.items()} for row in csv.DictReader(file)
        ]


def markdown(table: list[dict]) -> str:
    """float16, a line a shape."""
    lines = [
        "| x, half, 3 x 3 | memory bound | " + " | ".join(STEPS) + " | bound by | share of the memory bound |",
        "|---|---|" + "---|" * (len(STEPS) + 2),
    ]
    for shape in SHAPES:
        found = {r["way"]: r for r in table if r["type"] == "float16" and r["shape"] == "x".join(map(str, shape))}
        best = found[STEPS[4]]
        lines.append(
            f"| {' x '.join(map(str, shape))} | {best['bound_us']:.1f} us | "
            + " | ".join(f"{found[s]['us']:,.1f} us" for s in STEPS)
            + f" | {_WORDS.get(best['bound_by'], best['bound_by'])} | {100 * best['share']:.0f} % |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    if "--readme" not in sys.argv[1:]:
        made, asked = [], [way for way in sys.argv[1:] if not way.startswith("--")]
        for row in rows(asked or WAYS):
            made.append(
                {k: f"{v:.3g}" if k == "share" else f"{v:.2f}" if isinstance(v, float) else v for k, v in row.items()}
            )
            print(*made[-1].values(), sep=",", flush=True)
        if "--write" in sys.argv[1:]:
            with open(TABLE, "w", encoding="utf-8", newline="") as out:
                writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(made)
    print(markdown(load()))
