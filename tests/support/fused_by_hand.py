"""The hand-written kernels that generated ones are held against: launches that only the clock takes part in."""

from __future__ import annotations

import torch
from ops_cases import TIMES
from ops_lab import module

import labkit
from labkit import paths
from labkit.launch.runner import clear_l2

# kernels/rms_norm/rms_norm.asc with a residual added to x first: what a person would change
_RESIDUAL = (
    ("GlobalTensor<T> xGm, weightGm, yGm;", "GlobalTensor<T> xGm, addedGm, weightGm, yGm;"),
    ("LocalTensor<T> xIn[SLOTS],", "LocalTensor<T> xIn[SLOTS], addedIn[SLOTS],"),
    ("RowNorm(GM_ADDR x, GM_ADDR w,", "RowNorm(GM_ADDR x, GM_ADDR added, GM_ADDR w,"),
    (
        "        weightGm.SetGlobalBuffer",
        "        addedGm.SetGlobalBuffer((__gm__ T*)added, static_cast<uint64_t>(rows - 1) * stride + width);\n        weightGm.SetGlobalBuffer",
    ),
    (
        "            yOut[slot] = room.Take<T>",
        "            addedIn[slot] = room.Take<T>(TPosition::VECIN, tall * pitch);\n            yOut[slot] = room.Take<T>",
    ),
    ("s++) Zero(xIn[s], tall * pitch);", "s++) {\n            Zero(xIn[s], tall * pitch);\n            Zero(addedIn[s], tall * pitch);\n        }"),
    ("(SLOTS * 2 * sizeof(T)", "(SLOTS * 3 * sizeof(T)"),
    (
        "        if (step < 1) LoadRows(weightIn",
        "        LoadRows(addedIn[slot], addedGm[static_cast<uint64_t>(tile) * tall * stride], LeastOf(tall, rows - tile * tall), width, stride, pitch);\n"
        "        if (step < 1) LoadRows(weightIn",
    ),
    (
        "        Mul(q, x, x, n);",
        "        Add(x, x, Widened(addedIn[slot], q, n), n);\n        Mul(q, x, x, n);",
    ),
    ("rms_norm(GM_ADDR x, GM_ADDR weight,", "rms_norm(GM_ADDR x, GM_ADDR added, GM_ADDR weight,"),
    ("op(x, weight,", "op(x, added, weight,"),
)  # fmt: skip


def residual_text() -> str:
    text = (paths.kernels_dir() / "rms_norm" / "rms_norm.asc").read_text(encoding="utf-8")
    for old, new in _RESIDUAL:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def empty(*shape, dtype=torch.float16):
    return torch.empty(shape, dtype=dtype, device="npu")


def swiglu_us(dtype: str, rows: int, width: int) -> float:
    clear_l2()
    return TIMES.timed("swiglu", dtype, rows, width, blocks=TIMES.blocks_for("swiglu", rows, width)).time_us


def residual_kernel(dtype: str, **how):
    entry = f"rms_norm<{TIMES.TYPES[dtype]}>"
    return labkit.kernel(
        text=residual_text(),
        filename=str(paths.kernels_dir() / "rms_norm" / "residual.asc"),
        entry=entry,
        timeout=60,
        **how,
    )


def residual_us(dtype: str, rows: int, width: int) -> float:
    kind = getattr(torch, dtype)
    kernel = residual_kernel(dtype, timing_only=True)
    x, added, y, weight = (*(empty(rows, width, dtype=kind) for _ in range(3)), empty(width, dtype=kind))
    clear_l2()
    record = kernel[TIMES.blocks_for("rms_norm", rows, width)](
        x, added, weight, y, empty(rows, dtype=torch.float32), rows, width, width, 1e-6
    )
    return record.time_us


def softmax_us(dtype: str, rows: int, width: int) -> float:
    kernel = labkit.kernel(
        "kernels/softmax/softmax.asc", entry=f"softmax_rows<{TIMES.TYPES[dtype]}>", timing_only=True, timeout=60
    )
    x, y = (empty(rows, width, dtype=getattr(torch, dtype)) for _ in range(2))
    times = []
    for blocks in (16, 48):
        clear_l2()
        times.append(kernel[min(blocks, rows)](x, y, rows, width).time_us)
    return min(times)


def chains():
    """scripts/drawn_chains.py."""
    return module("drawn_chains", paths.repo_root() / "scripts" / "drawn_chains.py")
