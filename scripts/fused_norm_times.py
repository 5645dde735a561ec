"""Modelled times of the fused norms in kernels/, beside the chain of launches that they replace.

    python scripts/fused_norm_times.py [--write]        writes data/fused_norms.csv

Nothing is computed: the twin's clock alone takes part, on memory that is never filled, and the simulated device's cost
of an operator, from shapes. All times are modelled, of float16; the first launch begins with an empty L2. The chain is
two of the device's own operators one after the other: addition and RMSNorm, LayerNorm and GELU.
"""

from __future__ import annotations

import argparse
import csv
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "data" / "fused_norms.csv"
FIELDS = (
    *("operator", "rows", "width", "blocks", "fused_us", "bound", "share", "least_us"),
    *("chain_us", "first_us", "second_us", "chain_over_fused"),
)
SHAPES = {
    "residual_rms_norm": ((16, 4096), (512, 4096), (4096, 4096), (4096, 5120)),  # LLaMA-7B and -13B
    "layer_norm_gelu": ((16, 4096), (512, 768), (4096, 768), (4096, 3072)),  # BERT base
}
READ = {
    "residual_rms_norm": 2,
    "layer_norm_gelu": 1,
}  # times that the rows come from HBM; what is written stays in the L2


def constant(file: str, name: str) -> float:
    return float(re.search(rf"\b{name} = ([\d.]+)", (ROOT / "kernels" / file).read_text(encoding="utf-8"))[1])


def blocks_for(name: str, rows: int, width: int) -> int:
    """On how many cores the operator launches it: kernels/rows_torch.h."""
    cores, next_core, lanes = (constant("rows_torch.h", n) for n in ("CORES", "NEXT_CORE", "LANES_OF_V"))
    cycles = constant(f"{name}/{name}_torch.asc", "CYCLES")
    return min(rows, int(min(cores, max(1.0, (rows * width * cycles / lanes / next_core) ** 0.5))))


def timed(name: str, rows: int, width: int, blocks: int | None = None, text: str | None = None):
    """The record of a launch that only the clock takes part in. text: stands in for what the kernel's file holds."""
    import torch

    import labkit

    labkit.device.install()
    file = ROOT / "kernels" / name / f"{name}.asc"
    given = {"path": file} if text is None else {"text": text, "filename": str(file)}
    kernel = labkit.kernel(**given, entry=f"{name}<half>", timing_only=True, timeout=120, l2="cold")
    count, how = rows * width, {"dtype": torch.float16, "device": "npu"}
    x, other, y, total = (torch.empty(count, **how) for _ in range(4))
    weight, bias = (torch.empty(width, **how) for _ in range(2))
    mean, rstd = (torch.empty(rows, dtype=torch.float32, device="npu") for _ in range(2))
    blocks = blocks or blocks_for(name, rows, width)
    if name == "residual_rms_norm":
        record = kernel[blocks](x, other, weight, y, total, rstd, rows, width, width, width, 1e-6)
    else:
        record = kernel[blocks](x, weight, bias, y, mean, rstd, rows, width, width, 1e-5)
    assert record.finished and not record.findings, record
    return record


def chain(name: str, rows: int, width: int) -> tuple[float, float]:
    """us of the two launches. The second reads what the first left in the L2."""
    from labkit.calibration.operators import row

    x, w, s = f"half[{rows}x{width}]", f"half[{width}]", f"float[{rows}x1]"
    if name == "residual_rms_norm":
        first = row("aten::add", f"{x};{x}", x, state="cold")
        return first.modelled(), row("aten::_fused_rms_norm", f"{x};{w}", f"{x};{s}").modelled()
    first = row("aten::native_layer_norm", f"{x};{w};{w}", f"{x};{s};{s}", state="cold")
    return first.modelled(), row("aten::gelu", x, x).modelled()


def line(name: str, rows: int, width: int) -> dict:
    import labkit

    record, (first, second) = timed(name, rows, width), chain(name, rows, width)
    bound = labkit.explain(record).bound
    least = READ[name] * rows * width * 2 / labkit.chips.load()["gm"]["hbm"] * 1e6
    us = (record.time_us, bound.kind, bound.share, least, first + second, first, second)
    return dict(zip(FIELDS, (name, rows, width, record.blocks, *us, (first + second) / record.time_us)))


def written(row: dict) -> dict[str, str]:
    def said(name, value):
        return (
            f"{value:.{2 if name == 'share' or '_over_' in name else 1}f}" if isinstance(value, float) else str(value)
        )

    return {name: said(name, value) for name, value in row.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.relative_to(ROOT)}")
    given = parser.parse_args()
    found = [written(line(name, *shape)) for name, shapes in SHAPES.items() for shape in shapes]
    for row in found:
        print(*row.values(), sep=",")
    if given.write:
        with open(TABLE, "w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, FIELDS, lineterminator="\n")
            out.writeheader()
            out.writerows(found)


if __name__ == "__main__":
    main()
