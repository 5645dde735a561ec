"""Chains of PyTorch operators drawn by a seed, each fused into one kernel, run on the twin, compared and timed.

    python scripts/drawn_chains.py --seed 3 --count 300 --csv data/drawn_chains_wider.csv --resume
    python scripts/drawn_chains.py --seed 3 --count 20 --save DIR       # the sources, for scripts/cann_headers.py

A chain has 2 to 10 operators on tensors of 1 to 4 dimensions, with broadcasts, reductions of rows, lengths that do not
come out even, and mixed types. Seeds from 2 on draw wider: a fifth have many narrow rows (1 to 32 columns); of the
others with two and more dimensions two fifths reduce another one than the last (of 2 to 300, whole columns must fit
UB); reductions are a quarter of the steps, not 18 %, with logsumexp, and keep the dimension or not; integers are
reduced, too, but not along the last dimension, where the vector unit has no instruction. Its result is compared with
the same function in double on the CPU. Times are modelled:
the fused launch and the launches of a kernel for each operator, by the twin's clock and by the predictor. `groups`,
`recommended` and `gain` are what labkit.fusion.analyze says of the same function as a model: how many groups it makes
of it, whether it recommends the one that is the whole chain, and what it predicts for that.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

FLOATS = ("float32", "float16", "bfloat16")
COLUMNS = (
    "seed number operators shapes types description kernel findings worst fused_us fused_predicted_us launches "
    "chain_us chain_predicted_us copied groups recommended gain ok why seconds"
).split()


@dataclass
class Drawn:
    """inputs: (shape, type) of each; steps: (operator, arguments), an argument is an index of a value or a number."""

    inputs: list[tuple[tuple[int, ...], str]]
    steps: list[tuple[str, tuple]]
    outputs: list[int]
    seed: object = 0
    bounds: list[float] = field(default_factory=list)
    dim: int = -1  # that is reduced

    def __call__(self, *tensors):
        values = list(tensors)
        for op, arguments in self.steps:
            given = [values[a] if isinstance(a, int) else int(a) if isinstance(a, Whole) else a for a in arguments]
            values.append(apply(op, given, self.dim))
        made = [values[i] for i in self.outputs]
        return made[0] if len(made) == 1 else tuple(made)

    def tensors(self) -> list:
        import torch

        generator = torch.Generator().manual_seed(sum(map(ord, str(self.seed))))
        made = []
        for shape, kind in self.inputs:
            if kind == "bool":
                made.append(torch.rand(shape, generator=generator) > 0.4)
            elif kind == "int32":
                made.append(torch.randint(-9, 10, shape, generator=generator, dtype=torch.int32))
            else:
                made.append(torch.empty(shape).uniform_(-2, 2, generator=generator).to(getattr(torch, kind)))
        return made

    def __str__(self) -> str:
        lines = []
        for i, (op, arguments) in enumerate(self.steps, len(self.inputs)):
            lines.append(f"v{i} = {op}({', '.join(f'v{a}' if isinstance(a, int) else str(a) for a in arguments)})")
        return "; ".join(lines) + f"; return {', '.join(f'v{i}' for i in self.outputs)}"


class Whole(float):
    """A whole number among the arguments, where a plain int is the index of a value."""


def apply(op: str, a: list, last: int = -1):
    """An operator of a drawn chain on tensors."""
    import torch
    import torch.nn.functional as F

    table = {
        "add": lambda: a[0] + a[1],
        "sub": lambda: a[0] - a[1],
        "mul": lambda: a[0] * a[1],
        "ratio": lambda: a[0] / (a[1].abs() + 1.0),
        "maximum": lambda: torch.maximum(a[0], a[1]),
        "minimum": lambda: torch.minimum(a[0], a[1]),
        "muls": lambda: a[0] * a[1],
        "adds": lambda: a[0] + a[1],
        "from": lambda: a[1] - a[0],
        "divs": lambda: a[0] / a[1],
        "neg": lambda: -a[0],
        "abs": lambda: a[0].abs(),
        "relu": lambda: F.relu(a[0]),
        "leaky": lambda: F.leaky_relu(a[0], 0.1),
        "exp": lambda: torch.exp(a[0]),
        "log": lambda: torch.log(a[0].abs() + 1.0),
        "sqrt": lambda: torch.sqrt(a[0].abs() + 0.25),
        "rsqrt": lambda: torch.rsqrt(a[0].abs() + 0.5),
        "sigmoid": lambda: torch.sigmoid(a[0]),
        "silu": lambda: F.silu(a[0]),
        "tanh": lambda: torch.tanh(a[0]),
        "gelu": lambda: F.gelu(a[0]),
        "gelu_tanh": lambda: F.gelu(a[0], approximate="tanh"),
        "square": lambda: a[0] ** 2,
        "clamp": lambda: a[0].clamp(-1.5, 1.25),
        "above": lambda: torch.where(a[0] > a[1], a[0], a[2]),
        "mask": lambda: torch.where(a[1], a[0], a[2]),
        "masked": lambda: a[0].masked_fill(a[1], a[2]),
        "both": lambda: torch.where((a[0] > -0.731) & a[1], a[0], a[2]),
        "sum": lambda: a[0] - a[0].mean(last, keepdim=True),
        "norm": lambda: a[0] * torch.rsqrt(a[0].pow(2).mean(last, keepdim=True) + 1e-5),
        "most": lambda: a[0] - a[0].amax(last, keepdim=True),
        "least": lambda: a[0] - a[0].amin(last, keepdim=True),
        "softmax": lambda: torch.softmax(a[0], last),
        "layer_norm": lambda: F.layer_norm(a[0], (a[0].shape[-1],)),
        "var": lambda: a[0] / torch.sqrt(a[0].var(last, keepdim=True, correction=0) + 0.1),
        "end_sum": lambda: a[0].sum(last),
        "end_mean": lambda: a[0].mean(last, keepdim=True),
        "end_most": lambda: a[0].amax(last),
        "end_least": lambda: a[0].amin(last, keepdim=True),
        "spread": lambda: a[0] - torch.logsumexp(a[0], last, keepdim=True),
        "end_lse": lambda: torch.logsumexp(a[0], last),
        "end_var": lambda: a[0].var(last, keepdim=True),
        "end_total": lambda: a[0].sum(last, dtype=torch.int32),
        "float": lambda: a[0] * 0.5,
        "eq": lambda: torch.where(a[0] == a[1], a[0] + 1, a[0]),
        "less": lambda: torch.where(a[0] <= a[1], a[0], a[1] - 1),
    }
    return table[op]()


WIDTHS = (1, 2, 7, 16, 31, 33, 63, 64, 65, 100, 127, 128, 200, 255, 300, 512, 513, 781, 1000, 1024, 2047, 3000)
UNARY = "neg abs relu leaky exp log sqrt rsqrt sigmoid silu tanh gelu gelu_tanh square clamp".split()
BINARY = "add sub mul ratio maximum minimum".split()
NUMBER = "muls adds from divs".split()
ROWS = "sum norm most least softmax layer_norm var".split()
ALONG = "sum norm most least softmax spread var".split()  # ROWS along any dimension
WIDER_ENDS = "end_sum end_mean end_most end_least end_lse end_var".split()
WHOLE_ENDS = "end_most end_least end_total".split()
ENDS = "end_sum end_mean end_most end_least".split()
SAFE = {"sigmoid": 1, "tanh": 1, "rsqrt": 2, "softmax": 1, "clamp": 1.5}


def bound(op: str, b: list[float], width: int) -> float:
    """How large a result can become, for chains that stay within the 16-bit types."""
    if op in SAFE:
        return SAFE[op]
    x = b[0]
    return {
        "add": lambda: x + b[1], "sub": lambda: x + b[1], "mul": lambda: x * b[1], "ratio": lambda: x,
        "maximum": lambda: max(x, b[1]), "minimum": lambda: max(x, b[1]), "muls": lambda: x * abs(b[1]),
        "adds": lambda: x + abs(b[1]), "from": lambda: x + abs(b[1]), "divs": lambda: x / abs(b[1]),
        "exp": lambda: 2.718 ** min(x, 50), "square": lambda: x * x, "above": lambda: max(x, b[2]),
        "mask": lambda: max(x, b[2]), "masked": lambda: max(x, abs(b[2])), "both": lambda: max(x, b[2]),
        "sum": lambda: 2 * x, "most": lambda: 2 * x, "least": lambda: 2 * x, "norm": lambda: width**0.5,
        "layer_norm": lambda: width**0.5, "var": lambda: 4 * x, "end_sum": lambda: x * width,
        "end_total": lambda: x * width,
        "spread": lambda: 2 * x + 6, "end_lse": lambda: x + 6, "end_var": lambda: 4 * x * x + 1, "float": lambda: x,
        "eq": lambda: x + 1, "less": lambda: max(x, b[1]) + 1,
    }.get(op, lambda: x)()  # fmt: skip


def draw(seed: int, number: int, wider: bool | None = None) -> Drawn:
    """The chain `number` of a seed. wider: the wider rule; None: that of the seed."""
    r = random.Random(f"{seed}/{number}")
    rank = r.choice((1, 2, 2, 2, 3, 3, 4))
    wide = rank <= 2 and r.random() < 0.06
    width = r.choice((9000, 20011, 33000)) if wide else r.choice(WIDTHS) + (r.randrange(5) if r.random() < 0.3 else 0)
    most = 4 if wide else 300 if rank == 2 else 24 if rank == 3 else 7
    wider, narrow = seed > 1 if wider is None else wider, False
    if wider and rank > 1 and not wide and r.random() < 0.2:
        narrow, width = True, r.randint(1, 32)
    shape = (*(r.choice((1, 2, 3, r.randint(2, most), most)) for _ in range(rank - 1)), width)
    while _count(shape) > 600_000:
        shape = (*(max(1, n // 2) for n in shape[:-1]), shape[-1])
    dim = -1
    if wider and rank > 1 and not wide and not narrow and r.random() < 0.4:
        dim = r.randrange(rank - 1) - rank
        size = r.choice((r.randint(2, 64), r.randint(2, 300)))
        shape = tuple(size if i - rank == dim else n for i, n in enumerate(shape))
        while _count(shape) > 600_000:
            shape = tuple(n if i - rank == dim else max(1, n // 2) for i, n in enumerate(shape))
    elif narrow:
        rows = r.choice((300, 5_000, 60_000)) // (_count(shape[:-2]) or 1)
        shape = (*shape[:-2], max(1, rows), width)
    elif rank > 1 and not wide and r.random() < 0.15:  # millions of elements: HBM, the L2, many tiles on each core
        shape = (*shape[:-2], max(1, r.choice((1, 2, 4)) * 1_000_000 // (_count(shape[:-2]) * width)), width)
    whole = r.random() < 0.1  # of integers
    main = "int32" if whole else r.choice(FLOATS)
    inputs: list[tuple[tuple[int, ...], str]] = [(shape, main)]
    for _ in range(r.choice((0, 1, 1, 2, 3))):
        kind = "int32" if whole else r.choices((main, r.choice(FLOATS), "bool", "int32"), (6, 2, 2, 1))[0]
        inputs.append((_narrowed(r, shape), kind))
    d = Drawn(inputs, [], [], f"{seed}/{number}", dim=dim)
    d.bounds = [1.0 if k == "bool" else 9.0 if k == "int32" else 2.0 for _, k in inputs]
    value, waiting = 0, list(range(1, len(inputs)))
    wanted = max(r.randint(2, 10), len(waiting) + 1)
    while len(d.steps) < wanted:
        step = _wider_step if wider else _step
        op, arguments = step(r, d, value, waiting, whole, len(d.steps) == wanted - 1)
        limit = bound(op, [d.bounds[a] if isinstance(a, int) else a for a in arguments], shape[dim])
        if limit > 300:
            op, arguments = ("minimum", (value, 0)) if whole else ("tanh", (value,))
            limit = bound(op, [d.bounds[a] for a in arguments], width)
        for a in arguments:
            if isinstance(a, int) and a in waiting:
                waiting.remove(a)
        d.steps.append((op, arguments))
        d.bounds.append(limit)
        value = len(inputs) + len(d.steps) - 1
    d.outputs = [value]
    earlier = [len(inputs) + i for i, (op, _) in enumerate(d.steps[:-1])]
    if earlier and r.random() < 0.25:
        d.outputs.append(r.choice(earlier))
    return d


def _count(shape) -> int:
    made = 1
    for n in shape:
        made *= n
    return made


def _narrowed(r: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an operand that is broadcast to `shape`, or the shape itself."""
    how = r.choice(("same", "same", "row", "column", "some", "one", "short"))
    if how == "row":
        return shape[-1:]
    if how == "column":
        return (*shape[:-1], 1)
    if how == "some":
        return tuple(n if r.random() < 0.6 else 1 for n in shape)
    if how == "one":
        return ()
    return shape[r.randrange(len(shape)) :] if how == "short" else shape


def _step(r: random.Random, d: Drawn, value: int, waiting: list[int], whole: bool, last: bool) -> tuple:
    number = round(r.uniform(0.3, 2.5), 3) * r.choice((1, -1))
    other = r.choice(waiting) if waiting else r.choice(range(len(d.bounds)))
    kind = d.inputs[other][1] if other < len(d.inputs) else "value"
    if whole:
        if waiting or r.random() < 0.6:
            return (r.choice(("add", "sub", "maximum", "minimum", "less", "eq")), (value, other))
        op = r.choice(("muls", "adds", "from", "neg", "abs"))
        return (op, (value,)) if op in ("neg", "abs") else (op, (value, Whole(r.randint(1, 4))))
    if kind == "bool":
        op = r.choice(("mask", "masked", "both"))
        return (op, (value, other, number)) if op == "masked" else (op, (value, other, r.choice((0, value))))
    if waiting or r.random() < 0.3:
        return (r.choice(BINARY), (value, other))
    if last and r.random() < 0.15:
        return r.choice(ENDS), (value,)
    if r.random() < 0.18:
        return r.choice(ROWS), (value,)
    if r.random() < 0.12:
        return "above", (value, number + 0.0137, 0)
    if r.random() < 0.3:
        return r.choice(NUMBER), (value, number)
    return r.choice(UNARY), (value,)


def _wider_step(r: random.Random, d: Drawn, value: int, waiting: list[int], whole: bool, last: bool) -> tuple:
    """Seeds from 2 on: more reductions, along the chain's own dimension."""
    if not waiting and not (whole and d.dim == -1):
        if last and r.random() < 0.3:
            return r.choice(WHOLE_ENDS if whole else WIDER_ENDS), (value,)
        if r.random() < 0.25:
            return r.choice(("most", "least") if whole else ALONG), (value,)
    op, arguments = _step(r, d, value, waiting, whole, last)
    while op in ROWS or op in ENDS:
        op, arguments = _step(r, d, value, waiting, whole, last)
    return op, arguments


def analysed(d: Drawn) -> dict:
    """What the analysis says of the chain as a model."""
    import torch

    from labkit import fusion

    class Model(torch.nn.Module):
        def forward(self, *tensors):
            return d(*tensors)

    report = fusion.analyze(Model(), *(torch.empty(s, dtype=getattr(torch, k)) for s, k in d.inputs))
    made = {"groups": len(report.groups)}
    if len(report.groups) == 1 and len(report.groups[0].operators) == len(report.before.pieces):
        (g,) = report.groups
        made |= {"recommended": g.recommended, "gain": f"{g.speedup:.3f}" if g.generated else ""}
    return made


def outcome(seed: int, number: int, unfused: bool = True, save: Path | None = None) -> dict:
    """Fuses, runs, compares and times one chain. Never raises for what the chain itself does wrong."""
    import torch

    from labkit import fusion
    from labkit.launch.runner import clear_l2

    began, d = time.perf_counter(), draw(seed, number)
    row = dict.fromkeys(COLUMNS, "") | {
        "seed": seed,
        "number": number,
        "operators": len(d.steps),
        "description": str(d),
        "ok": False,
    }
    row["shapes"], row["types"] = (
        " ".join("x".join(map(str, s)) or "1" for s, _ in d.inputs),
        " ".join(k for _, k in d.inputs),
    )
    try:
        tensors = d.tensors()
        kernel = fusion.kernel(d, tensors, name=f"chain_{number}")
        if save:
            kernel.save(save / f"chain_{seed}_{number}.asc")
        check = kernel.check(*tensors)
        row |= {
            "kernel": kernel.plan.program.shape,
            "findings": " ".join(check.record.codes()),
            "worst": f"{check.worst:.3f}",
            "copied": " ".join(kernel.space.copied),
        }
        clear_l2()
        row |= {"fused_us": f"{kernel.modelled().time_us:.3f}", "fused_predicted_us": f"{kernel.predict().us:.3f}"}
        if unfused:
            chain = kernel.chain()
            row |= {
                "launches": chain.launches,
                "chain_predicted_us": f"{chain.predicted_us:.3f}",
                "chain_us": f"{chain.modelled_us():.3f}",
            }
            row |= analysed(d)
        row["ok"] = check.ok
        row["why"] = "" if check.ok else "finding" if check.record.findings else "numbers"
    except Exception as error:  # a row of the table, not the end of it
        row["why"] = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    row["seconds"] = f"{time.perf_counter() - began:.2f}"
    torch.npu.empty_cache() if hasattr(torch, "npu") else None
    return row


def summary(rows: list[dict]) -> str:
    """What a table shows: how many are right, how well times are predicted, whether fusing pays."""
    right = [r for r in rows if r["ok"]]
    lines = [f"{len(right)} of {len(rows)} chains right and without a finding"]
    for name in ("fused", "chain"):
        off = [abs(float(r[f"{name}_predicted_us"]) / float(r[f"{name}_us"]) - 1) for r in rows if r[f"{name}_us"]]
        if off:
            good, median = sum(o <= 0.2 for o in off), 100 * sorted(off)[len(off) // 2]
            lines.append(f"{name}: predicted within 20 % in {good} of {len(off)}, median {median:.1f} % off")
    several = [r for r in rows if r["chain_us"] and int(r["launches"]) > 1]
    if several:
        faster = sum(float(r["fused_us"]) < float(r["chain_us"]) for r in several)
        lines.append(f"fused is faster than its two and more launches in {faster} of {len(several)} (modelled)")
        gains = [float(r["chain_us"]) / float(r["fused_us"]) for r in several]
        predicted = [float(r["chain_predicted_us"]) / float(r["fused_predicted_us"]) for r in several]
        good = sum(abs(p / g - 1) <= 0.2 for g, p in zip(gains, predicted))
        lines.append(f"the gain: predicted within 20 % in {good} of {len(gains)}")
    whole = [r for r in several if str(r["recommended"]) == "True" and r["gain"]]
    if whole:
        faster = sum(float(r["fused_us"]) < float(r["chain_us"]) for r in whole)
        near = sum(abs(float(r["gain"]) * float(r["fused_us"]) / float(r["chain_us"]) - 1) <= 0.2 for r in whole)
        lines.append(
            f"analyze takes {sum(r['recommended'] != '' for r in several)} of {len(several)} as one group and "
            f"recommends {len(whole)}: faster in {faster}, its gain within 20 % in {near}"
        )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--save", type=Path, help="a folder for the sources")
    parser.add_argument("--resume", action="store_true", help="go on with what the table does not have yet")
    parser.add_argument("--fused-only", action="store_true", help="leave the unfused launches out")
    given = parser.parse_args()
    import labkit

    labkit.device.install()
    if given.save:
        given.save.mkdir(parents=True, exist_ok=True)
    rows = list(csv.DictReader(given.csv.open(encoding="utf-8"))) if given.resume and given.csv.exists() else []
    for row in rows:
        row["ok"] = row["ok"] == "True"
    have = {(int(r["seed"]), int(r["number"])) for r in rows}
    for number in range(given.first, given.first + given.count):
        if (given.seed, number) in have:
            continue
        rows.append(outcome(given.seed, number, not given.fused_only, given.save))
        if not rows[-1]["ok"]:
            print(f"{number}: {rows[-1]['why']}  {rows[-1]['description']}", file=sys.stderr, flush=True)
        if given.csv:
            with given.csv.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, COLUMNS)
                writer.writeheader()
                writer.writerows(rows)
    print(summary(rows))
    return 0 if all(r["ok"] for r in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
