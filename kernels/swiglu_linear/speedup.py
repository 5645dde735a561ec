"""What the fusion of SwiGLU with its projections gains on the modelled clock: data/swiglu_speedup.csv and the
table of kernels/README.md.

    python kernels/swiglu_linear/speedup.py            # measures and prints
    python kernels/swiglu_linear/speedup.py --write    # and brings both up to date
    python kernels/swiglu_linear/speedup.py --steps    # only data/swiglu_steps.csv

The steps from the naive kernel to the optimised one, each with its modelled time, are in data/swiglu_steps.csv.

Fused: one launch of swiglu_linear. Unfused: four launches of our own kernels, two products cut by the same rule, silu,
times; their task times are added, without anything between them. Each way begins with an empty L2, for in a model the
other layers' weights have passed through it since; what a launch leaves there the next one of the same way finds, so
that silu and times need not fetch what the products just made. All on half, 910B1, modelled; nothing was measured.
"""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).parent)] if __name__ == "__main__" else []
import golden  # noqa: E402  (this folder's)

from labkit import analysis, clear_l2, paths  # noqa: E402
from labkit.analysis.bound import bound  # noqa: E402
from labkit.analysis.facts import facts  # noqa: E402

SHAPES = {
    "published, B=32 S=512": (16384, 4096, 16384),
    "LLaMA-7B prefill": (2048, 4096, 11008),
    "LLaMA-7B decode, 1 token": (1, 4096, 11008),
    "LLaMA-7B decode, 32 tokens": (32, 4096, 11008),
}
FIELDS = (
    "shape",
    "m",
    "h",
    "i",
    "fused_us",
    "cube_utilisation",
    "fused_bound",
    "keeping_us",
    "gate_us",
    "up_us",
    "silu_us",
    "times_us",
    "unfused_us",
    "product_bound",
    "elementwise_bound",
    "speedup",
    "fused_scratch_mb",
    "unfused_scratch_mb",
    "slopes_us",
    "dx_us",
    "dw_us",
)
TABLE = paths.data_dir() / "swiglu_speedup.csv"
STEPS_TABLE = paths.data_dir() / "swiglu_steps.csv"
# what each changes, and how it is launched; the last two columns of the table are its times for a long and a short sum.
# The last two are the best one with one thing missing.
STEPS = (
    ("the Matmul object twice, then silu(gate) * up", None),
    (
        "by hand: gate and up in one block, one load of x for both, two buffers in L1 and L0, blocks in panels of 16",
        {"slots": 1, "foldA": 1},
    ),
    ("two chunks of x a load: half as many rows, which cost time each", {"slots": 1}),
    ("a second slot: the vector cores finish a block while the next is stored", {}),
    ("the last, with one buffer in L1 and L0", {"buffers": 1}),
    ("the last, without panels: a core does not find in the L2 what the others read from HBM", {"panel": 1}),
)
_BEGIN, _END = "<!-- swiglu speedup -->", "<!-- end swiglu -->"
_WORDS = {
    "mte2": "each core's way in from GM",
    "hbm": "HBM",
    "l2": "the L2",
    "launch": "starting and ending the task",
    "cube": "the cube",
    "l0": "the way into L0",
    "scalar": "the scalar unit",
    "transfers": "many small transfers",
    "order": "waiting in turn",
    "vector": "the vector unit",
    "mte3": "each core's way out to GM",
    "imbalance": "the last core",
    "startup": "starting vector instructions",
}


def utilisation(record) -> float:
    """Share of the task's time in which the cubes multiply: "mac ratio", the mean over the cube cores."""
    cubes = [c["busy.M"] for c in record.cores if c["core"] == 2]
    return sum(cubes) / len(cubes) / record.time_us


def measure(name: str, shape: tuple[int, int, int], back: bool = True) -> dict:
    """One row of the table; back: the backward's three launches too."""
    m, h, i = shape
    how = {"timing_only": True, "l2": "warm"}
    x, w_gate, w_up = (torch.empty(s, dtype=torch.float16).npu() for s in ((m, h), (i, h), (i, h)))
    clear_l2()
    fused, y, *_ = golden.forward(x, w_gate, w_up, how=how)
    clear_l2()
    keeping, _, gate, up = golden.forward(x, w_gate, w_up, how=how, keep=True)
    clear_l2()
    parts, _ = golden.unfused(x, w_gate, w_up, how=how)
    clear_l2()
    backward = golden.backward(y, x, w_gate, w_up, gate, up, how=how)[0] if back else []
    for record in (fused, keeping, *parts, *backward):
        assert record.ok and not record.extrapolated, record
    unfused, kinds = (
        sum(p.time_us for p in parts),
        [bound(facts(fused)), bound(facts(parts[0])), analysis.explain(parts[2]).bound],
    )
    ring = golden.ring_bytes(shape)
    return dict(
        zip(
            FIELDS,
            (
                name,
                m,
                h,
                i,
                fused.time_us,
                utilisation(fused),
                kinds[0].kind,
                keeping.time_us,
                *(p.time_us for p in parts),
                unfused,
                kinds[1].kind,
                kinds[2].kind,
                unfused / fused.time_us,
                ring / 1e6,
                3 * m * i * 2 / 1e6,
                *(b.time_us for b in backward),
            ),
        )
    )


def steps(*shapes: tuple[int, int, int]) -> list[tuple]:
    """(what, time at each shape in us) for each of STEPS."""
    rows = [[what] for what, _ in STEPS]
    cold = {"timing_only": True, "l2": "cold"}
    for m, h, i in shapes:
        operands = [torch.empty(s, dtype=torch.float16).npu() for s in ((m, h), (i, h), (i, h))]
        for row, (_, how) in zip(rows, STEPS):
            record = (
                golden.naive(*operands, how=cold)[0] if how is None else golden.forward(*operands, how=cold, **how)[0]
            )
            assert record.finished and not record.extrapolated
            row.append(record.time_us)
    return [tuple(row) for row in rows]


def markdown(rows: list[dict]) -> str:
    def us(v: float) -> str:
        return f"{v / 1e3:.2f} ms" if v >= 1000 else f"{v:.0f} us"

    lines = [
        "| M x H x I, half | fused, one launch | cubes busy | bound by | unfused, four launches | bound by | gain |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        then = f"products: {_WORDS[r['product_bound']]}; silu, times: {_WORDS[r['elementwise_bound']]}"
        parts = f"{us(r['gate_us'])} + {us(r['up_us'])} + {us(r['silu_us'])} + {us(r['times_us'])}"
        lines.append(
            f"| {r['m']} x {r['h']} x {r['i']} ({r['shape']}) | {us(r['fused_us'])} | "
            f"{100 * r['cube_utilisation']:.0f} % | {_WORDS[r['fused_bound']]} "
            f"| {us(r['unfused_us'])} = {parts} | {then} | {r['speedup']:.2f} |"
        )
    return "\n".join(lines)


def load() -> list[dict]:
    """The committed table, numbers as numbers."""
    with open(TABLE, encoding="utf-8", newline="") as file:
        return [
            {
                k: float(v)
                if re.fullmatch(r"-?[\d.]+", v) and k not in ("m", "h", "i")
                else int(v)
                if k in ("m", "h", "i")
                else v
                for k, v in row.items()
            }
            for row in csv.DictReader(file)
        ]


def write(rows: list[dict]) -> None:
    with open(TABLE, "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, FIELDS, lineterminator="\n")
        out.writeheader()
        out.writerows(
            {
                k: f"{v:.4g}" if k in ("speedup", "cube_utilisation") else f"{v:.1f}" if isinstance(v, float) else v
                for k, v in row.items()
            }
            for row in rows
        )
    readme = paths.kernels_dir() / "README.md"
    text = readme.read_text(encoding="utf-8")
    readme.write_text(
        re.sub(f"{_BEGIN}.*?{_END}", lambda _: f"{_BEGIN}\n{markdown(load())}\n{_END}", text, flags=re.S),
        encoding="utf-8",
    )


if __name__ == "__main__":
    measured = load() if "--steps" in sys.argv[1:] else [measure(*item) for item in SHAPES.items()]
    if {"--write", "--steps"} & set(sys.argv[1:]):
        write(measured)
        shapes = (SHAPES["published, B=32 S=512"], (16384, 128, 16384))
        with open(STEPS_TABLE, "w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(("step", *("x".join(map(str, s)) + "_us" for s in shapes)))
            out.writerows((what, *(f"{t:.1f}" for t in times)) for what, *times in steps(*shapes))
    print(markdown(measured))
