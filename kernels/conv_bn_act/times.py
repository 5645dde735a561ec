"""What a convolution with batch norm and activation takes, modelled: one launch, the chain of our own launches, and the
device's operators.

    python kernels/conv_bn_act/times.py            # prints the rows, minutes
    python kernels/conv_bn_act/times.py --write    # and writes data/conv_bn_act.csv

Shapes: every distinct convolution of ResNet-50 (v1.5) at 224 x 224 with batches of 1, 8 and 32, with ReLU, and YOLOv5s'
Focus at 640 x 640 with batches of 1 and 8, with SiLU; each contiguous ("nchw") and channels_last. All float16. Each way
begins with an empty L2; what a launch leaves there the next one finds. fused_us is one launch. chain_us is three:
convolution, batch norm and activation, each of kernels/conv_bn_act. apart_us: the batch norm folded, the activation a
launch of its own. device_us is what the simulated npu charges for conv2d, batch_norm and the activation; of it
transdata_us for bringing x, weight and y into its own format and back, which it does in either memory format.
cube_us and memory_us are bounds: the products at the cube's peak, and x, weight and y once at HBM's rate. `chosen` is
what ConvBnAct takes (module.chosen), chosen_us its time. Nothing is computed and nothing was measured.
"""

from __future__ import annotations

import csv
import sys

import torch
from labkit.operators.conv_bn_act import golden, module
from torch.nn import functional as F

import labkit
from labkit import chips, paths

TABLE = paths.data_dir() / "conv_bn_act.csv"
VECTORS = 48
# (channels, side, channels of y, kernel, stride, padding)
RESNET = (
    (3, 224, 64, 7, 2, 3),
    *((c, s, o, 1, 1, 0) for c, s, o in ((64, 56, 64), (64, 56, 256), (256, 56, 64), (256, 56, 128), (128, 28, 512))),
    *((c, s, o, 1, 1, 0) for c, s, o in ((512, 28, 128), (512, 28, 256), (256, 14, 1024), (1024, 14, 256))),
    *((c, s, o, 1, 1, 0) for c, s, o in ((1024, 14, 512), (512, 7, 2048), (2048, 7, 512))),
    *((c, s, o, 1, 2, 0) for c, s, o in ((256, 56, 512), (512, 28, 1024), (1024, 14, 2048))),
    *((c, s, c, 3, 1, 1) for c, s in ((64, 56), (128, 28), (256, 14), (512, 7))),
    *((c, s, c, 3, 2, 1) for c, s in ((128, 56), (256, 28), (512, 14))),
)
FOCUS = (3, 640, 32, 6, 2, 2)
CASES = (
    *((n, *shape, "relu", last) for n in (1, 8, 32) for shape in RESNET for last in (False, True)),
    *((n, *FOCUS, "silu", last) for n in (1, 8) for last in (False, True)),
)
FIELDS = (
    *("batch", "channels", "side", "out", "kernel", "stride", "padding", "activation", "format"),
    *("fused_us", "bound_by", "cube_us", "memory_us", "chain_us", "conv_us", "norm_us", "act_us", "apart_us"),
    *("device_us", "transdata_us", "chosen", "chosen_us", "chain_over_chosen", "device_over_chosen"),
)


def _empty(count: int, dtype=torch.float16):
    return torch.empty(count, dtype=dtype, device="npu")


def _launch(x, out, kernel, stride, padding, activation: str, last: bool):
    """A launch of the fused kernel from shapes: (record, y, positions)."""
    name = "conv_bn_silu" if activation == "silu" else "conv_bn_act"
    k = golden.kernel(f"{name}<half>", timing_only=True)
    c = golden.conv(k, x, out, (kernel,) * 2, (stride,) * 2, (padding,) * 2, last, activation == "relu")
    form = module.layout(x, (kernel,) * 2, (stride,) * 2, (padding,) * 2, last)
    weight = _empty(module.pack(torch.empty(out, x[1], kernel, kernel, device="meta"), form).numel())
    y = _empty(x[0] * out * c.outHeight * c.outWidth)
    record = k[min(golden.CUBES, golden.units(c))](
        _empty(torch.Size(x).numel()), weight, _empty(-(-out // 16) * 16, torch.float32), y, c
    )
    return _right(record), y, c.outHeight * c.outWidth


def _right(record):
    assert record.ok and not record.extrapolated, record
    return record


def _norm(y, n: int, out: int, positions: int, last: bool):
    kernel = golden.kernel("batch_norm<half>", "chain.asc", timing_only=True)
    scale, shift = (_empty(out, torch.float32) for _ in range(2))
    rows, width = (n * positions, out) if last else (n * out, positions)
    return _right(kernel[VECTORS](y, scale, shift, torch.empty_like(y), rows, width, out, int(last)))


def _activation(y, activation: str):
    kernel = golden.kernel(f"activation<half, {str(activation == 'silu').lower()}>", "chain.asc", timing_only=True)
    return _right(kernel[VECTORS](y, torch.empty_like(y), y.numel()))


def device_us(x, out, kernel, stride, padding, activation: str, last: bool) -> tuple[float, float]:
    """(all, of it TransData) of the device's operators."""
    with labkit.device.shapes_only(), torch.no_grad():
        form = torch.channels_last if last else torch.contiguous_format
        given = torch.empty(x, dtype=torch.float16, device="npu").contiguous(memory_format=form)
        weight = torch.empty(out, x[1], kernel, kernel, dtype=torch.float16, device="npu")
        norm = [_empty(out) for _ in range(4)]
        labkit.clear_l2()
        since = labkit.device.clock().launches
        y = F.batch_norm(F.conv2d(given, weight, None, stride, padding), *norm)
        (F.silu if activation == "silu" else F.relu)(y)
        found = labkit.device.pieces(since)
    return sum(p.us for p in found), sum(p.us for p in found if p.name == "TransData")


def measure(n, c, side, out, kernel, stride, padding, activation, last) -> dict:
    """One row of the table."""
    labkit.device.install()
    x, how = (n, c, side, side), (out, kernel, stride, padding)
    labkit.clear_l2()
    fused, y, positions = _launch(x, *how, activation, last)
    labkit.clear_l2()
    plain, y, _ = _launch(x, *how, "none", last)
    norm, act = _norm(y, n, out, positions, last), _activation(y, activation)
    labkit.clear_l2()
    folded, y, _ = _launch(x, *how, "none", last)
    apart = folded.time_us + _activation(y, activation).time_us
    device, converted = device_us(x, *how, activation, last)
    chip = chips.flat("910B1")
    moved = 2 * (n * c * side * side + out * c * kernel * kernel + y.numel())
    chain = plain.time_us + norm.time_us + act.time_us
    chosen = module.chosen(y.numel(), activation)
    us = {"fused": fused.time_us, "apart": apart}[chosen]
    values = (
        *(n, c, side, out, kernel, stride, padding, activation, "channels_last" if last else "nchw"),
        *(fused.time_us, labkit.explain(fused).bound.kind),
        *(2 * y.numel() * c * kernel * kernel / chip["rates.cube16"] * 1e6, moved / chip["gm.hbm"] * 1e6),
        *(chain, plain.time_us, norm.time_us, act.time_us, apart, device, converted),
        *(chosen, us, chain / us, device / us),
    )
    return dict(zip(FIELDS, values))


def load() -> list[dict]:
    """The committed table, its fields as they are written."""
    with open(TABLE, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    made = []
    for case in CASES:
        row = measure(*case)
        made.append({k: f"{v:.2f}" if isinstance(v, float) else v for k, v in row.items()})
        print(*made[-1].values(), sep=",", flush=True)
    if "--write" in sys.argv[1:]:
        with open(TABLE, "w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, FIELDS, lineterminator="\n")
            out.writeheader()
            out.writerows(made)
