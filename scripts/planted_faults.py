"""Writes data/planted_faults.csv: faulty operators of the simulated device, looked for module by module and by msprobe.

    python scripts/planted_faults.py [--each 20] [--probe 5] [--models bert,vit,...]

The rule, made before the first run: six small models of tests/support/small_models.py (text, pictures, speech, several
together), every weight and bias random. Of each, all triples of a module, an operator that it calls itself in its
forward (on the device, with a floating-point result) and a fault of labkit.migrate.faults that applies; `--each` of
them are drawn without putting back, by seed 0. The first `--probe` of each are also looked for with msprobe.

visible: the fault changes something that leaves a module, beyond rounding, in a plain run: what nobody can see at the
modules' doors is counted apart. bisect: the module that labkit.migrate.bisect names. msprobe: the module of the first
wrong row by our rule (labkit.migrate.probing.first), and of msprobe's own first row that is no "pass".
"""

from __future__ import annotations

import argparse
import copy
import csv
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests" / "support")]

from small_models import build  # noqa: E402

from labkit import device, migrate  # noqa: E402
from labkit.migrate import faulty  # noqa: E402
from labkit.migrate.bisecting import excess  # noqa: E402
from labkit.migrate.faults import FAULTS, applies  # noqa: E402

MODELS = ("bert", "vit", "llama", "whisper", "mixtral", "internvl")
COLUMNS = ("model", "module", "operator", "fault", "calls", "visible", "bisect", "msprobe", "msprobe_verdict")


def prepared(name: str):
    model, options = build(name)
    draw = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn(p.shape, generator=draw) * 0.1)
    return model.eval(), options


def triples(model, options) -> list[tuple[str, str, str]]:
    report = migrate.assess(model, (), options, optimizer=None)
    calls = {(c.module, c.name, c.overload): c.operator for c in report.calls if c.kernels and c.types}
    return sorted({(m, name, fault) for (m, name, _), op in calls.items() for fault in FAULTS if applies(op, fault)})


def outputs(model, options) -> list[torch.Tensor]:
    """What leaves each module in a plain run, in order."""
    seen: list[torch.Tensor] = []
    hooks = [
        m.register_forward_hook(
            lambda _, __, out: seen.extend(
                t.detach().cpu() for t in torch.utils._pytree.tree_leaves(out) if isinstance(t, torch.Tensor)
            )
        )
        for m in model.modules()
    ]
    with torch.no_grad():
        model(**options)
    for hook in hooks:
        hook.remove()
    return seen


def trial(name: str, each: int, probe: int) -> list[dict]:
    device.install()
    model, options = prepared(name)
    npu = copy.deepcopy(model).npu()
    there = {k: v.npu() if isinstance(v, torch.Tensor) else v for k, v in options.items()}
    drawn = triples(model, options)
    cases = random.Random(0).sample(drawn, min(each, len(drawn)))
    right = outputs(npu, there)
    rows = []
    for module, operator, fault in cases:
        with faulty(operator, fault, module, npu) as bad:
            seen = outputs(npu, there)
        calls = bad.calls
        visible = len(seen) != len(right) or any(excess(a, b) > 1 for a, b in zip(seen, right))
        with faulty(operator, fault, module, npu):
            named = migrate.bisect(npu, model, (), options)
        rows.append(dict(zip(COLUMNS, (name, module, operator, fault, calls, visible, shown(named), "", ""))))
        print(*rows[-1].values(), sep="  ", flush=True)
    if probe:
        with_msprobe(model, npu, options, rows[:probe])  # last: it takes PyTorch's functions apart
    return rows


def with_msprobe(model, npu, options, rows) -> None:
    from labkit.migrate import probing

    folder = Path(tempfile.mkdtemp(prefix="planted-"))
    try:
        probing.dump(model, (), options, folder)
        for step, row in enumerate(rows, 1):
            with faulty(row["operator"], row["fault"], row["module"], npu):
                probing.dump(npu, (), options, folder)
            table = probing.compare(folder / f"step{step}", folder / "step0")
            first, verdict = probing.first(table), next((r for r in table if r.verdict != "pass"), None)
            row["msprobe"] = shown(first and first.module)
            row["msprobe_verdict"] = shown(verdict and verdict.module)
            shutil.rmtree(folder / f"step{step}")
            print(*row.values(), sep="  ", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def shown(module: str | None) -> str:
    return "none" if module is None else module or "(model)"


def counted(rows: list[dict]) -> str:
    lines = []
    for way in ("bisect", "msprobe", "msprobe_verdict"):
        tried = [r for r in rows if r[way]]
        for visible in (True, False):
            some = [r for r in tried if str(r["visible"]) == str(visible)]
            found = sum(r[way] == (r["module"] or "(model)") for r in some)
            none = sum(r[way] == "none" for r in some)
            lines.append(
                f"{way}, {'visible' if visible else 'not visible'}: {len(some)} faults, the module named {found}, "
                f"another {len(some) - found - none}, none {none}"
            )
    return "\n".join(lines)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ask.add_argument("--each", type=int, default=20)
    ask.add_argument("--probe", type=int, default=5)
    ask.add_argument("--models", default=",".join(MODELS))
    ask.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "data" / "planted_faults.csv")
    args = ask.parse_args()
    names = args.models.split(",")
    if len(names) > 1:  # a process each: msprobe knows one folder a process
        rows = []
        with tempfile.TemporaryDirectory() as scratch:
            for name in names:
                part = Path(scratch) / f"{name}.csv"
                same = ["--each", str(args.each), "--probe", str(args.probe), "--models", name, "--out", str(part)]
                subprocess.run([sys.executable, __file__, *same], check=True)
                with open(part, encoding="utf-8", newline="") as file:
                    rows += list(csv.DictReader(file))
    else:
        rows = trial(names[0], args.each, args.probe)
    with open(args.out, "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
    print(counted(rows))


if __name__ == "__main__":
    main()
