"""Modelled times of the operators' kernels in kernels/, step by step, and what bounds the operator.

    python scripts/operator_times.py [name ...] [--csv]

Names are swiglu, swiglu_backward, rms_norm ...; without any, all of them.
Nothing is computed: the twin's clock alone takes part, on memory that is never filled.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[1] / "kernels"
TYPES = {"float16": "half", "bfloat16": "bfloat16_t", "float32": "float"}


@dataclass(frozen=True)
class Launch:
    """How a kernel is launched. steps: how many it has, 0 where it is one kernel. sizes: for rows and width the
    elements of its tensors, "own" those of the operator's type and "float" the others. more: the numbers behind rows
    and width. shapes: those of the table."""

    file: str
    steps: int
    sizes: Callable
    more: Callable
    shapes: tuple
    flat: bool = False  # rows that touch are launched as one


_MODEL = ((1, 11008), (128, 11008), (4096, 11008))  # one token, a few, a sequence; the MLP of LLaMA-7B
_ROWS = ((16, 4096), (4096, 4096), (4096, 8192), (131072, 128))  # the last one: queries, 32 heads
_WIDE = ((512, 16384), (4096, 12288))
_BIAS = ((16, 4096), (4096, 4096), (4096, 11008), (65536, 64))


def _own(*counts):
    return [("own", n) for n in counts]


LAUNCHES = {
    "swiglu": Launch(
        "swiglu/swiglu.asc", 5, lambda r, w: _own(r * w, r * w, r * w), lambda r, w: (w, w), _MODEL, flat=True
    ),
    "swiglu_backward": Launch(
        "swiglu/swiglu.asc", 5, lambda r, w: _own(*[r * w] * 5), lambda r, w: (w, w, w), _MODEL, flat=True
    ),
    "rms_norm": Launch(
        "rms_norm/rms_norm.asc", 5, lambda r, w: [*_own(r * w, w, r * w), ("float", r)], lambda r, w: (w, 1e-6), _ROWS
    ),
    "rms_norm_backward": Launch(
        "rms_norm/rms_norm_backward.asc",
        5,
        lambda r, w: [*_own(r * w, r * w, w), ("float", r), *_own(r * w), ("float", 48 * w)],
        lambda r, w: (w, w),
        (_ROWS[0], _ROWS[1], _ROWS[3]),
    ),
    "rms_norm_wide": Launch(
        "rms_norm/rms_norm_wide.asc",
        0,
        lambda r, w: [*_own(r * w, w, r * w), ("float", r)],
        lambda r, w: (w, 1e-6),
        _WIDE,
    ),
    "rms_norm_wide_backward": Launch(
        "rms_norm/rms_norm_wide.asc",
        0,
        lambda r, w: [*_own(r * w, r * w, w), ("float", r), *_own(r * w), ("float", 48 * w)],
        lambda r, w: (w, w, -(-r // 48)),
        _WIDE,
    ),
    "bias_gelu": Launch("bias_gelu/bias_gelu.asc", 4, lambda r, w: _own(r * w, w, r * w), lambda r, w: (w,), _BIAS),
    "bias_gelu_backward": Launch(
        "bias_gelu/bias_gelu.asc",
        4,
        lambda r, w: [*_own(r * w, r * w, w, r * w), ("float", 48 * w)],
        lambda r, w: (w, w),
        _BIAS,
    ),
}


def entry(name: str, dtype: str, step: int | None = None) -> str:
    """The instantiation of a step; the last one, as the operators launch it, has no number."""
    return (
        f"{name}<{TYPES[dtype]}>"
        if step in (None, (LAUNCHES[name].steps or 1) - 1)
        else f"{name}<{TYPES[dtype]}, {step}>"
    )


def constant(file: str, name: str) -> float:
    """What `constexpr ... name = ...` says in a file of kernels/."""
    return float(re.search(rf"\b{name} = ([\d.]+)", (KERNELS / file).read_text(encoding="utf-8"))[1])


def cycles(name: str) -> float:
    """What 64 elements cost a core, as the operator's adapter has it."""
    operator = name.removesuffix("_backward").removesuffix("_wide")
    way = "CYCLES_BACKWARD" if name.endswith("_backward") else "CYCLES"
    return constant(f"{operator}/{operator}_torch.asc", way)


def blocks_for(name: str, rows: int, width: int) -> int:
    """On how many cores the operator launches it: kernels/rows_torch.h."""
    cores, next_core, lanes = (constant("rows_torch.h", n) for n in ("CORES", "NEXT_CORE", "LANES_OF_V"))
    best = min(cores, max(1.0, (rows * width * cycles(name) / lanes / next_core) ** 0.5))
    if not name.startswith("bias_gelu"):
        return int(best) if LAUNCHES[name].flat else min(rows, int(best))
    if best > rows:
        return rows * min(int(cores) // rows, int(best / rows + 0.5))
    return -(-rows // max(int(rows / best + 0.5), -(-rows // int(cores))))


def timed(
    name: str, dtype: str, rows: int, width: int, step: int | None = None, blocks: int = 48, text: str | None = None
):
    """The record of a launch that only the clock takes part in. text: stands in for what the kernel's file holds."""
    import torch

    import labkit

    launch, file = LAUNCHES[name], KERNELS / LAUNCHES[name].file
    labkit.device.install()
    given = {"path": file} if text is None else {"text": text, "filename": str(file)}
    kernel = labkit.kernel(**given, entry=entry(name, dtype, step), timing_only=True, timeout=120)
    memory = [
        torch.empty(n, dtype=getattr(torch, dtype if kind == "own" else "float32"), device="npu")
        for kind, n in launch.sizes(rows, width)
    ]
    if launch.flat:
        rows, width = 1, rows * width
    record = kernel[blocks](*memory, rows, width, *launch.more(rows, width))
    assert record.finished and not record.findings, record
    return record


def table(names=()):
    """Rows of (kernel, type, rows, width, modelled us of each step on all cores, the operator's cores, its us, what
    bounds it, the share of the time).
    """
    import labkit

    for name in names or LAUNCHES:
        for dtype in ("float16", "float32"):
            for rows, width in LAUNCHES[name].shapes:
                times = [timed(name, dtype, rows, width, step).time_us for step in range(LAUNCHES[name].steps or 1)]
                launched = timed(name, dtype, rows, width, blocks=blocks_for(name, rows, width))
                bound = labkit.explain(launched).bound
                yield name, dtype, rows, width, times, launched.blocks, launched.time_us, bound.kind, bound.share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", choices=[*LAUNCHES, []])
    parser.add_argument("--csv", action="store_true")
    given = parser.parse_args()
    print(
        "kernel,type,rows,width,modelled us of each step on 48 cores,operator's cores,its modelled us,bound by,share"
        if given.csv
        else "modelled us: each step on 48 cores; the operator, on the cores that it launches; what bounds it"
    )
    for name, dtype, rows, width, times, blocks, us, kind, share in table(given.names):
        if given.csv:
            print(
                name,
                dtype,
                rows,
                width,
                " ".join(f"{t:.2f}" for t in times),
                blocks,
                f"{us:.2f}",
                kind,
                f"{share:.2f}",
                sep=",",
            )
        else:
            print(
                f"{name:22} {dtype:8} {rows:5} x {width:5}"
                + "".join(f"{t:8.1f}" for t in times)
                + f"   operator: {us:6.1f} on {blocks:2}   {kind} ({share:.0%})",
                flush=True,
            )


if __name__ == "__main__":
    main()
