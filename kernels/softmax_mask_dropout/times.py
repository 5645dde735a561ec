"""Modelled times of softmax(x * scale + mask) with dropout: one launch, our chain of launches, the device's operators.

    python kernels/softmax_mask_dropout/times.py [--write]        writes data/softmax_mask_dropout.csv

Nothing is computed: the twin's clock alone takes part, on memory that is never filled, and the simulated device's cost
of an operator, from shapes. All times are modelled, of float16; each way begins with an empty L2, and what a launch
leaves there the next one of the same way finds. The chain is naive.asc: scale and mask in one launch, softmax, dropout.
The device's operators are mul, add, softmax and dropout; they are costed with their own constants, fitted on other
measurements than the twin's. The mask is [batch, 1, 1, keys], numbers that are added.

chosen: whether the rule of labkit.fusion takes the fused launch (it never does with dropout that is active, for it
cannot draw PyTorch's numbers; who calls the operator gets that row's gain).
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "data" / "softmax_mask_dropout.csv"
FIELDS = (
    *("model", "batch", "heads", "queries", "keys", "p", "chosen", "fused_us", "bound", "share", "least_us"),
    *("chain_us", "score_us", "softmax_us", "dropout_us", "device_us", "backward_us"),
    *("chain_over_fused", "device_over_fused"),
)
SHAPES = (
    ("BERT base, 512 tokens", 8, 12, 512, 512),
    ("BERT base, 128 tokens", 1, 12, 128, 128),
    ("ViT-B/16", 8, 12, 197, 197),
    ("GPT-2, 1024 tokens", 4, 12, 1024, 1024),
    ("LLaMA-7B, 2048 tokens", 1, 32, 2048, 2048),
    ("LLaMA-7B, a step", 8, 32, 1, 2048),
)


def golden():
    """kernels/softmax_mask_dropout/golden.py."""
    name = "golden_softmax_mask_dropout"
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("golden.py"))
    made = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def cost(operator: str, inputs: list[tuple], output: tuple, how: str = "", state: str = "warm", kinds=()) -> float:
    """us of one of the device's own operators, by shapes. kinds: types of the inputs where they are not all half."""
    from labkit.calibration.operators import row

    def said(shapes, kinds=()):
        return ";".join(f"{k}[{'x'.join(map(str, s))}]" for s, k in zip(shapes, kinds or ["half"] * len(shapes)))

    return row(operator, said(inputs, kinds), said([output]), how, state).modelled()


def written(row: dict) -> dict[str, str]:
    def said(name, value):
        digits = 2 if name == "share" or "_over_" in name else 1
        return f"{value:.{digits}f}" if isinstance(value, float) else str(value)

    return {name: said(name, value) for name, value in row.items()}


def line(model: str, batch: int, heads: int, queries: int, keys: int, p: float) -> dict:
    import torch

    import labkit

    gold, shape = golden(), (batch, heads, queries, keys)
    x = torch.empty(shape, dtype=torch.float16, device="npu")
    mask = torch.empty(batch, 1, 1, keys, dtype=torch.float16, device="npu")
    rows = batch * heads * queries
    how = {"timing_only": True, "l2": "warm", "blocks": blocks_for(rows, keys, p)}
    labkit.clear_l2()
    fused = gold.launch(x, mask, 0.125, p, 1, **how)[0]
    labkit.clear_l2()
    back = gold.launch_backward(x, x, 0.125, p, 1, **how)[0]
    labkit.clear_l2()
    parts = gold.chain(x, mask, 0.125, p, 1, **how)[0]
    for record in (fused, back, *parts):
        assert record.finished and not record.findings and not record.extrapolated, record
    device = [cost("aten::mul", [shape], shape, state="cold"), cost("aten::add", [shape, tuple(mask.shape)], shape)]
    device += [cost("aten::_softmax", [shape], shape, "dim=-1")]
    device += [cost("aten::native_dropout", [shape], shape)] if p else []
    us, bound = fused.time_us, labkit.explain(fused).bound
    least = rows * keys * 2 / labkit.chips.load()["gm"]["hbm"] * 1e6
    each = [r.time_us for r in parts] + [0.0] * (3 - len(parts))
    found = (model, *shape, str(p), int(p == 0), us, bound.kind, bound.share, least, sum(each), *each, sum(device))
    return dict(zip(FIELDS, (*found, back.time_us, sum(each) / us, sum(device) / us)))


def blocks_for(rows: int, width: int, p: float) -> int:
    """On how many cores the operator launches it: kernels/rows_torch.h."""
    import re

    def constant(file, name):
        return float(re.search(rf"\b{name} = ([\d.]+)", (ROOT / "kernels" / file).read_text(encoding="utf-8"))[1])

    cores, next_core, lanes = (constant("rows_torch.h", n) for n in ("CORES", "NEXT_CORE", "LANES_OF_V"))
    cycles = constant("softmax_mask_dropout/softmax_mask_dropout_torch.asc", "CYCLES_DROPPING" if p else "CYCLES")
    return min(rows, int(min(cores, max(1.0, (rows * width * cycles / lanes / next_core) ** 0.5))))


def rows(shapes=SHAPES):
    import labkit

    labkit.device.install()
    for shape in shapes:
        for p in (0.0, 0.1):
            yield line(*shape, p)


def write(table: Path, fields: tuple, found: list[dict]) -> None:
    with open(table, "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, fields, lineterminator="\n")
        out.writeheader()
        out.writerows(found)


def main(rows=rows, table=TABLE, fields=FIELDS, said=__doc__) -> None:
    """Prints the rows, and writes them where --write is given; the times of other kernels use it too."""
    parser = argparse.ArgumentParser(description=said.split("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {table.relative_to(ROOT)}")
    given, found = parser.parse_args(), []
    for row in rows():
        found.append(written(row))
        print(*found[-1].values(), sep=",", flush=True)
    if given.write:
        write(table, fields, found)


if __name__ == "__main__":
    main()
