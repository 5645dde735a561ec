"""What the cost function charges for each class of operators, against a table: tests/device/costs.csv.

That the times are right is what tests/calibration is about, with bars over many rows, which a class that few rows have
does not move. Here a change shows, with the operator's name: by intention (then
`PYTHONPATH=.:tests/support python tests/device/test_costs.py` writes the table anew), or not.
"""

from __future__ import annotations

import csv
from pathlib import Path

from device_lab import simulated

from labkit.calibration import operators

pytestmark = simulated
TABLE = Path(__file__).with_name("costs.csv")
FIELDS = ["operator", "inputs", "outputs", "how", "state"]
X, BIG, ROWS = "half[1024]", "half[2048x4096]", "half[37x1000]"
ROWS_OF = [
    # elementwise: empty, one, a block, more than the L2 holds; in place; numbers of one row or column spread
    *(("aten::add", f"{t}[{n}];{t}[{n}]", f"{t}[{n}]") for t in ("half", "float", "int64") for n in (1, 1024, 4 << 20)),
    ("aten::add", f"{X};{X}", X, "in place"),
    ("aten::mul", f"{BIG};half[1x4096]", BIG),
    ("aten::mul", f"{BIG};half[2048x1]", BIG),
    ("aten::mul", "half[8x16x64];half[8x1x1]", "half[8x16x64]"),
    ("aten::mul", "half[8x16x64];half[8x16x1]", "half[8x16x64]"),
    ("aten::gt", f"{BIG};{BIG}", "bool[2048x4096]"),
    ("aten::where", f"bool[1024];{X};{X}", X),
    ("aten::gelu", BIG, BIG),
    ("aten::silu", "float[2048x4096]", "float[2048x4096]"),
    ("npu::npu_swiglu", "half[64x8192]", "half[64x4096]"),
    ("aten::fill_", "", BIG),
    ("aten::exp", BIG, BIG),
    ("aten::pow", BIG, BIG),
    # rows: along the last dimension and another one
    *((f"aten::{name}", ROWS, "half[37]", "dim=1") for name in ("sum", "max", "linalg_vector_norm", "mean")),
    ("aten::sum", ROWS, "half[1000]", "dim=0"),
    ("aten::sum", "half[8x64x32]", "half[8x32]", "dim=1"),
    ("aten::sum", BIG, "half[]"),
    ("aten::cumsum", ROWS, ROWS, "dim=1"),
    ("aten::_softmax", ROWS, ROWS, "dim=1"),
    ("aten::_softmax", ROWS, ROWS, "dim=0"),
    ("aten::_softmax_backward_data", f"{ROWS};{ROWS}", ROWS, "dim=1"),
    ("aten::sort", ROWS, f"{ROWS};int64[37x1000]", "dim=1"),
    ("aten::topk", ROWS, "half[37x8];int64[37x8]", "dim=1"),
    ("aten::native_layer_norm", f"{ROWS};half[1000];half[1000]", f"{ROWS};half[37];half[37]"),
    ("aten::native_layer_norm_backward", f"{ROWS};{ROWS};half[37];half[37];half[1000]", f"{ROWS};half[1000];half[1000]"),
    ("aten::_fused_rms_norm", f"{ROWS};half[1000]", f"{ROWS};half[37]"),
    ("aten::native_group_norm", "half[4x32x16x16];half[32];half[32]", "half[4x32x16x16];half[4x8];half[4x8]", "groups=8"),
    # copies: whole, turned, every other number, appended, to another type
    ("aten::copy_", BIG, BIG),
    ("aten::copy_", BIG, "half[4096x2048]", "perm=1,0"),
    ("aten::copy_", "int64[1000x4]", "int64[4x1000]", "perm=1,0"),
    ("aten::copy_", "half[2048x4096]", BIG, "stride=8192,2"),
    ("aten::copy_", "half[2048x4096]", BIG, "stride=0,1"),
    ("aten::copy_", "half[16x32x64]", "half[32x16x64]", "perm=1,0,2"),
    ("aten::cat", "half[8x100x64];half[8x1x64]", "half[8x101x64]", "dim=1"),
    ("aten::_to_copy", BIG, "float[2048x4096]"),
    ("aten::_to_copy", "int64[100000]", "int32[100000]"),
    # indices
    ("aten::embedding", "half[32000x4096];int64[8x128]", "half[8x128x4096]"),
    ("aten::index_select", "half[1000x64];int64[37]", "half[37x64]", "dim=0"),
    ("aten::gather", "half[64x1000];int64[64x10]", "half[64x10]", "dim=1"),
    ("aten::index_put_", "half[1000x64];int64[37];half[37x64]", "half[1000x64]", "in place"),
    ("aten::scatter_add_", "half[64x1000];int64[64x10];half[64x10]", "half[64x1000]", "in place"),
    # products: of halves and floats, batches, turned, with what is added
    *(("aten::mm", f"{t}[{m}x{k}];{t}[{k}x{n}]", f"{t}[{m}x{n}]") for t in ("half", "float") for m, k, n in ((1, 4096, 4096), (512, 512, 512), (37, 100, 11))),
    ("aten::bmm", "half[16x64x128];half[16x128x32]", "half[16x64x32]"),
    ("aten::addmm", "half[512];half[64x128];half[128x512]", "half[64x512]"),
    ("aten::addbmm", "half[64x32];half[16x64x128];half[16x128x32]", "half[64x32]"),
    ("aten::baddbmm", "half[16x64x32];half[16x64x128];half[16x128x32]", "half[16x64x32]"),
    ("aten::_scaled_mm", "int8[512x512];int8[512x512];float[];float[]", "half[512x512]"),
    ("aten::_grouped_mm", "half[512x128];half[4x128x256];int32[4]", "half[512x256]"),
    ("aten::dot", "half[4096];half[4096]", "half[]"),
    ("aten::mv", "half[512x4096];half[4096]", "half[512]"),
    # convolutions and their gradients
    ("aten::convolution", "half[8x64x32x32];half[128x64x3x3]", "half[8x128x32x32]"),
    ("aten::convolution", "half[8x64x32x32];half[64x1x3x3]", "half[8x64x32x32]", "groups=64"),
    ("aten::convolution_backward", "half[8x128x32x32];half[8x64x32x32];half[128x64x3x3]", "half[8x64x32x32];half[128x64x3x3]"),
    ("aten::max_pool2d_with_indices", "half[8x64x32x32]", "half[8x64x16x16];int64[8x64x16x16]"),
    # attention and its gradient
    *(("aten::scaled_dot_product_attention", "half[2x8x512x64];half[2x8x512x64];half[2x8x512x64]", "half[2x8x512x64]", how) for how in ("", "causal")),
    ("aten::_scaled_dot_product_fused_attention_overrideable_backward", "half[2x8x512x64];" * 4 + "half[2x8x512x64]", "half[2x8x512x64];half[2x8x512x64];half[2x8x512x64]"),
    # lists
    ("aten::_foreach_add", "half[1000];half[64];half[1000];half[64]", "half[1000];half[64]"),
    ("aten::_foreach_norm", "half[1000];half[64]", "half[];half[]"),
    ("aten::_fused_adamw_", "half[4096];half[4096];half[4096];half[4096]", "half[4096];half[4096];half[4096]", "in place"),
]  # fmt: skip


def charged() -> dict[tuple[str, ...], str]:
    """Microseconds, of a cold L2 and of a warm one."""
    found = {}
    for operator, inputs, outputs, *how in ROWS_OF:
        for state in ("cold", "warm"):
            key = (operator, inputs, outputs, *(how or [""]), state)
            found[key] = f"{operators.row(*key).modelled():.4f}"
    return found


def test_every_class_costs_what_the_table_says():
    got = charged()
    known = {tuple(row[f] for f in FIELDS): row["us"] for row in csv.DictReader(TABLE.open(encoding="utf-8"))}
    told = [f"{' '.join(key)}: {known.get(key, 'not in the table')} us, now {got.get(key, 'not asked')}"
            for key in sorted({*got, *known}) if got.get(key) != known.get(key)]  # fmt: skip
    assert not told, (
        f"{len(told)} costs changed (the head of {Path(__file__).name} says how to write the table anew):\n"
        + ("\n".join(told[:15]))
    )


if __name__ == "__main__":
    from labkit import device

    device.install()
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow([*FIELDS, "us"])
        out.writerows([*key, us] for key, us in charged().items())
