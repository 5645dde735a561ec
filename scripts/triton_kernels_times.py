"""Writes data/triton_kernels.csv: our kernels in Triton beside the hand-written ones, on the modelled clock.

    python scripts/triton_kernels_times.py [--write]

Both begin with an empty L2 and get the same tensors, of float16. The hand-written side is the registered operator (of
softmax the kernel itself), with the cut that its own host code makes; where it launches several kernels, their sum. Not
counted on either side: what brings x of depthwise_conv into channels_last, and for Triton its frame of zeros. `access`:
kinds of the loads and stores of the emitted code. All times are modelled.
"""

from __future__ import annotations

import csv
import re

import torch
import typer

import labkit
import labkit.triton
from labkit import paths
from labkit.launch import record as launches

TABLE = paths.data_dir() / "triton_kernels.csv"
FIELDS = ("kernel", "shape", "triton_us", "hand_us", "ratio", "triton_bound", "hand_bound", "access")
SHAPES = {
    "swiglu": ("1 x 11008", "128 x 11008", "4096 x 11008"),
    "rms_norm": ("16 x 4096", "4096 x 4096", "4096 x 8192"),
    "softmax": ("183 x 781", "512 x 1000", "4096 x 4096"),
    "linear_act": ("128 x 768 x 3072 silu", "1024 x 768 x 3072 silu", "1024 x 768 x 3072 none"),
    "depthwise_conv": ("1 x 32 x 56 x 56", "16 x 256 x 56 x 56"),
}


def made(name: str):
    return labkit.triton.load(f"kernels/{name}/{name}_triton.py")


def tensors(name: str, shape: str) -> list:
    """What both sides get, on the device; of numbers as good as any."""
    sizes = [int(n) for n in re.findall(r"\d+", shape)]
    shapes = {
        "swiglu": [sizes, sizes],
        "rms_norm": [sizes, sizes[1:]],
        "softmax": [sizes],
        "linear_act": [sizes[:2], sizes[:0:-1], sizes[2:]],
        "depthwise_conv": [sizes, [*sizes[1:2], 1, 3, 3]],
    }[name]
    return [torch.full(s, 0.125, dtype=torch.float16, device="npu") for s in shapes]


def triton_us(name: str, shape: str):
    """(modelled us, record) of the launch in Triton from an empty L2."""
    given, how = tensors(name, shape), {}
    if name == "linear_act":
        how = {"act": shape.split()[-1]}
        given = given[: 2 if how["act"] == "none" else 3]
    if name == "depthwise_conv":
        how = {"padding": 1}
    module = made(name)
    module.launch(*given, **how)  # compiled, and its buffers are there
    labkit.clear_l2()
    module.launch(*given, **how)
    record = labkit.triton.last()
    assert not record.findings, record.report()
    return record.time_us, record


def hand_us(name: str, shape: str):
    """(modelled us, the longest launch's record) of the hand-written kernel."""
    given = tensors(name, shape)
    if name == "softmax":
        kernel, y = labkit.kernel("kernels/softmax/softmax.asc", entry="softmax_rows<half>"), torch.empty_like(given[0])
        labkit.clear_l2()
        record = kernel[48](given[0], y, *given[0].shape)
        return record.time_us, record
    labkit.register(f"kernels/{name}/{name}_torch.asc")
    if name == "linear_act":
        act = shape.split()[-1]
        call = lambda: torch.ops.lab.linear_act(*given[:2], None if act == "none" else given[2], None, act)  # noqa: E731
    elif name == "depthwise_conv":
        x = given[0].to(memory_format=torch.channels_last)
        call = lambda: torch.ops.lab.depthwise_conv2d(x, given[1], None, 1, 1)  # noqa: E731
    else:
        call = lambda: getattr(torch.ops.lab, name)(*given)  # noqa: E731
    call()
    torch.npu.synchronize()
    labkit.clear_l2()
    seen: list = []
    launches.watchers.append(seen.append)
    call()
    torch.npu.synchronize()
    launches.watchers.remove(seen.append)
    return sum(r.time_us for r in seen), max(seen, key=lambda r: r.time_us)


def bound(record) -> str:
    return max(record.busy, key=record.busy.get) if record.busy else ""


def access(name: str) -> str:
    """Kinds that the emitted code states."""
    from labkit.triton.driver import _kernels

    text = [t for t in _kernels if f"Triton kernel {name};" in t][-1]
    kinds = set(re.findall(r"^// \d+: (strided|gather)", text, re.M))
    return " ".join(sorted(kinds)) or "contiguous"


def main(write: bool = False):
    labkit.triton.install()
    rows = []
    for name, shapes in SHAPES.items():
        for shape in shapes:
            (mine, record), (hand, other) = triton_us(name, shape), hand_us(name, shape)
            rows.append([name, shape, f"{mine:.2f}", f"{hand:.2f}", f"{mine / hand:.2f}", bound(record), bound(other),
                         access(name)])  # fmt: skip
            print(*rows[-1], flush=True)
    if write:
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([FIELDS, *rows])


if __name__ == "__main__":
    typer.run(main)
