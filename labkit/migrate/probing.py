"""msprobe (mindstudio-probe) on the simulated npu: one run of a model dumped, two dumps compared, the first wrong row.

    from labkit.migrate import probing
    probing.dump(model, example, options, "dump")        # step0: on the CPU
    probing.dump(model.npu(), ...)                       # step1: on the npu
    rows = probing.compare("dump/step1", "dump/step0", "result")
    probing.first(rows)                                  # the first result that is wrong while its inputs are right

msprobe itself is not changed. It takes PyTorch's functions apart for the rest of the process and knows one folder and
one task a process: use it in a process of its own. On a node the same calls dump the card.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_map_only

from labkit.messages import text

# Of a tensor's largest element. Single precision: ten times what sums in another order leave. msprobe's own columns
# of relative errors are per element, and near 0 rounding alone is a large share of an element.
ALLOWED = 1e-4


@dataclass(frozen=True)
class Row:
    """name: msprobe's, of a function ("Functional.gelu.3.forward.output.0") or a module. error: its column MaxAbsErr
    over the largest element of the reference. verdict: msprobe's own "pass", "warning" or "error". module: the one in
    whose forward it was computed, by its name in the model."""

    name: str
    error: float
    verdict: str
    module: str

    @property
    def result(self) -> bool:
        return ".output." in self.name


def _debugger(folder: Path):
    try:
        from msprobe.pytorch import PrecisionDebugger
    except ImportError as error:
        raise ImportError(text("migrate.no-msprobe")) from error
    config = Path(folder) / "config.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    tensors = {"scope": [], "list": [], "data_mode": ["all"]}
    asked = {"task": "tensor", "dump_path": str(folder), "rank": [], "step": [], "level": "mix", "tensor": tensors}
    config.write_text(json.dumps(asked), encoding="utf-8")
    return PrecisionDebugger(config_path=str(config))


def dump(
    model: torch.nn.Module,
    example: tuple = (),
    options: Mapping[str, Any] | None = None,
    folder: str | Path = "dump",
    loss: Callable[[Any], torch.Tensor] | None = None,
) -> Any:
    """The model's output; functions and modules of the run are in folder/stepN, N counting the calls in this process.

    Arguments are moved to the model's device. loss: with it the backward pass is dumped too. Raises ImportError where
    msprobe is not installed.
    """
    place = next(model.parameters()).device
    there = tree_map_only(torch.Tensor, lambda t: t.to(place), (tuple(example), dict(options or {})))
    debugger = _debugger(Path(folder).resolve())
    debugger.start(model=model)
    with torch.set_grad_enabled(loss is not None):
        out = model(*there[0], **there[1])
        if loss is not None:
            loss(out).backward()
    debugger.stop()
    debugger.step()
    return out


def compare(npu: str | Path, cpu: str | Path, result: str | Path | None = None) -> list[Row]:
    """The rows of `msprobe compare`, in the order of the run. npu, cpu: folders of a step. result: where msprobe
    leaves its table. Raises FileNotFoundError where a folder holds no finished dump, ImportError without msprobe."""
    ours, theirs = map(_dumped, (npu, cpu))
    try:
        from msprobe.pytorch.compare.pt_compare import pt_compare
    except ImportError as error:
        raise ImportError(text("migrate.no-msprobe")) from error

    with tempfile.TemporaryDirectory() as scratch:
        out = Path(result) if result else Path(scratch)
        out.mkdir(parents=True, exist_ok=True)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            pt_compare({"npu_path": str(ours), "bench_path": str(theirs), "is_print_compare_log": False}, str(out))
        table = max(out.glob("compare_result_*.csv"))
        with open(table, encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    around = json.loads((ours.parent / "construct.json").read_text(encoding="utf-8"))
    return [Row(r["NPU Name"], _error(r), r["Result"], _module(r["NPU Name"], around)) for r in rows]


def _dumped(step: str | Path) -> Path:
    found = sorted(f for f in Path(step).resolve().glob("*/dump.json") if (f.parent / "construct.json").is_file())
    if not found:
        raise FileNotFoundError(text("migrate.no-dump", folder=step))
    return found[0]


def _error(row: dict[str, str]) -> float:
    """0 where the row holds no numbers (a flag, None); inf where the error is none (NaN)."""
    try:
        size = max(abs(float(row["Bench max"])), abs(float(row["Bench min"])), 1e-30)
        error = float(row["MaxAbsErr"]) / size
    except ValueError:
        return 0.0
    return error if error == error else float("inf")


def _module(name: str, around: dict) -> str:
    """ "Module.model.layers.0.mlp.Linear.forward.0" is model.layers.0.mlp: the class and the call stand behind it."""
    call = name
    while call and call not in around:
        call = call.rpartition(".")[0]
    module = call if call.startswith("Module.") else around.get(call) or ""
    return ".".join(module.split(".")[1:-3])


def first(rows: list[Row], allowed: float = ALLOWED) -> Row | None:
    """The first result, forward before backward, whose error is more than `allowed`, while what went in has less."""
    right: dict[str, bool] = {}
    for row in rows:
        call = row.name.split(".input.")[0].split(".output.")[0].split(".parameters.")[0]
        if not row.result:
            right[call] = right.get(call, True) and row.error <= allowed
        elif row.error > allowed and right.get(call, True):
            return row
    return None
