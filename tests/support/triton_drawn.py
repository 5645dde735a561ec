"""Triton kernels by chance, each with its reference: a tile of two dimensions, loads, arithmetic, broadcasts, reductions.

A program is a list of steps; each gives a value that is a full tile, a column or a row. The same steps are written as
Triton and computed by PyTorch on the CPU in float32, on the padded tile, so that `other` counts as it does in Triton.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

import torch
from hypothesis import strategies as st

KINDS = {"full": "[:, None] * width + c[None, :]", "column": "[:, None]", "row": "c[None, :]"}
DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32, "i8": torch.int8,
          "i16": torch.int16, "i64": torch.int64}  # fmt: skip
TL = {"f32": "tl.float32", "f16": "tl.float16", "bf16": "tl.bfloat16", "i32": "tl.int32"}
BINARY = {
    "add": ("{a} + {b}", torch.add),
    "sub": ("{a} - {b}", torch.sub),
    "mul": ("{a} * {b} * 0.125", lambda a, b: a * b * 0.125),
    "maximum": ("tl.maximum({a}, {b})", torch.maximum),
    "minimum": ("tl.minimum({a}, {b})", torch.minimum),
    "where": ("tl.where({a} > {b}, {a}, {b} - 0.5)", lambda a, b: torch.where(a > b, a, b - 0.5)),
    "ratio": ("{a} / (1.0 + tl.abs({b}))", lambda a, b: a / (1 + b.abs())),
}
UNARY = {
    "abs": ("tl.abs({a})", torch.abs),
    "exp": ("tl.exp(-tl.abs({a}))", lambda a: torch.exp(-a.abs())),
    "neg": ("0.25 - {a}", lambda a: 0.25 - a),
    "half": ("{a}.to(tl.float16).to(tl.float32)", lambda a: a.half().float()),
    "clip": ("tl.clamp({a}, -3.0, 3.0)", lambda a: a.clamp(-3, 3)),
    "root": ("tl.sqrt(tl.abs({a}))", lambda a: a.abs().sqrt()),
}
REDUCE = {
    "sum": lambda a, d: a.sum(d, keepdim=True),
    "max": lambda a, d: a.amax(d, keepdim=True),
    "min": lambda a, d: a.amin(d, keepdim=True),
}

INTEGERS = {  # of both as integers, back in float32
    "quotient": ("({a} * 8).to({t}) // (({b} * 8).to({t}) | 1)", lambda a, b: torch.div(a, b | 1, rounding_mode="trunc")),
    "rest": ("({a} * 8).to({t}) % (({b} * 8).to({t}) | 1)", lambda a, b: torch.fmod(a, b | 1)),
    "bits": ("({a} * 8).to({t}) & 63 ^ ({b} * 8).to({t}) << 1 | 1", lambda a, b: a & 63 ^ b << 1 | 1),
    "order": ("tl.where(({a} * 8).to({t}) <= ({b} * 8).to({t}), 3, ({a} * 8).to({t}) >> 2)",
              lambda a, b: torch.where(a <= b, torch.full_like(a, 3), a >> 2)),
}  # fmt: skip
ALONG = {  # the numbers are eighths, so sums are exact
    "cumsum": ("tl.cumsum({a}, axis={d})", lambda a, d: a.cumsum(d)),
    "backwards": ("tl.cumsum({a}, axis={d}, reverse=True)", lambda a, d: a.flip(d).cumsum(d).flip(d)),
    "argmax": ("tl.argmax({a}, axis={d}, keep_dims=True).to(tl.float32)",
               lambda a, d: (a == a.amax(d, keepdim=True)).float().argmax(d, keepdim=True).float()),
    "argmin": ("tl.argmin({a}, axis={d}, keep_dims=True).to(tl.float32)",
               lambda a, d: (a == a.amin(d, keepdim=True)).float().argmax(d, keepdim=True).float()),
}  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """high, wide: the tile; rows, width: the tensor. loads: (kind, dtype, masked, other). steps: (name, operands)."""

    high: int
    wide: int
    rows: int
    width: int
    loads: tuple
    steps: tuple
    out: str

    def source(self) -> str:
        names = [f"x{i}" for i in range(len(self.loads))]
        lines = ["import triton", "import triton.language as tl", "", "", "@triton.jit"]
        lines += [f"def drawn({', '.join(names)}, y, rows, width, HIGH: tl.constexpr, WIDE: tl.constexpr):"]
        lines += ["    r = tl.program_id(0) * HIGH + tl.arange(0, HIGH)", "    c = tl.arange(0, WIDE)"]
        lines += ["    inside = (r < rows)[:, None] & (c < width)[None, :]"]
        masks = {"full": "inside", "column": "(r < rows)[:, None]", "row": "(c < width)[None, :]"}
        where = {"full": "r[:, None] * width + c[None, :]", "column": "r[:, None]", "row": "c[None, :]"}
        for i, (kind, _, other) in enumerate(self.loads):
            lines.append(f"    v{i} = tl.load(x{i} + {where[kind]}, mask={masks[kind]}, other={other}).to(tl.float32)")
        for i, (name, operands) in enumerate(self.steps, len(self.loads)):
            a = f"v{operands[0]}"
            if name in BINARY:
                text = BINARY[name][0].format(a=a, b=f"v{operands[1]}")
            elif name in UNARY:
                text = UNARY[name][0].format(a=a)
            elif name in INTEGERS:
                wide = f"tl.int{operands[2]}"
                text = f"({INTEGERS[name][0].format(a=a, b=f'v{operands[1]}', t=wide)}).to(tl.float32) * 0.125"
            elif name in ALONG:
                text = ALONG[name][0].format(a=a, d=operands[1])
            else:
                text = f"tl.{name}({a}, axis={operands[1]}, keep_dims=True)"
            lines.append(f"    v{i} = {text}")
        last = f"v{len(self.loads) + len(self.steps) - 1}"
        lines.append(f"    out = tl.broadcast_to({last}, (HIGH, WIDE)).to({TL[self.out]})")
        lines.append("    tl.store(y + r[:, None] * width + c[None, :], out, mask=inside)")
        return "\n".join(lines) + "\n"

    def inputs(self) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(self.rows * 1000 + self.width)
        shapes = {"full": (self.rows, self.width), "column": (self.rows,), "row": (self.width,)}
        made = [torch.randint(-32, 33, shapes[kind], generator=generator) / 8 for kind, _, _ in self.loads]
        return [(x * 8 if d[0] == "i" else x).to(DTYPES[d]) for x, (_, d, _) in zip(made, self.loads)]

    def reference(self, inputs: list[torch.Tensor]) -> torch.Tensor:
        made = []
        for at in range(0, self.rows, self.high):
            n, values = min(self.high, self.rows - at), []
            for x, (kind, _, other) in zip(inputs, self.loads):
                shape = {"full": (self.high, self.wide), "column": (self.high, 1), "row": (1, self.wide)}[kind]
                tile = torch.full(shape, float(other))
                if kind == "full":
                    tile[:n, : self.width] = x[at : at + n].float()
                elif kind == "column":
                    tile[:n, 0] = x[at : at + n].float()
                else:
                    tile[0, : self.width] = x.float()
                values.append(tile)
            for name, operands in self.steps:
                a = values[operands[0]]
                if name in BINARY:
                    b = values[operands[1]]
                    a, b = torch.broadcast_tensors(a, b)
                    values.append(BINARY[name][1](a, b))
                elif name in UNARY:
                    values.append(UNARY[name][1](a))
                elif name in INTEGERS:
                    a, b = torch.broadcast_tensors(a, values[operands[1]])
                    dtype = {8: torch.int8, 16: torch.int16, 32: torch.int32, 64: torch.int64}[operands[2]]
                    info = torch.iinfo(dtype)  # what is too large for the type: its largest, as on the chip
                    a, b = ((x * 8).trunc().double().clamp(info.min, info.max).to(dtype) for x in (a, b))
                    values.append(INTEGERS[name][1](a, b).to(dtype).float() * 0.125)
                elif name in ALONG:
                    values.append(ALONG[name][1](a, operands[1]))
                else:
                    values.append(REDUCE[name](a, operands[1]))
            made.append(values[-1].expand(self.high, self.wide)[:n, : self.width])
        whole = torch.cat(made)
        return whole.to(torch.int32) if self.out == "i32" else whole

    def run(self, folder: Path) -> tuple[torch.Tensor, torch.Tensor]:
        """(what the kernel gives, what it should)."""
        file = folder / f"drawn_{abs(hash(self.source())) % 10**12}.py"
        file.write_text(self.source())
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        inputs = self.inputs()
        y = torch.zeros(self.rows, self.width, dtype=DTYPES[self.out]).npu()
        grid = (-(-self.rows // self.high),)
        module.drawn[grid](*(x.npu() for x in inputs), y, self.rows, self.width, HIGH=self.high, WIDE=self.wide)
        return y.cpu(), self.reference(inputs)


def wrong(got: torch.Tensor, want: torch.Tensor) -> float:
    """The largest error in units of what the output's type can hold: above 1 is wrong."""
    if got.dtype == torch.int32:
        return float((got - want).abs().max())
    unit = {torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}[got.dtype]
    return float(((got.float() - want).abs() / (unit * want.abs().clamp(min=1))).max())


@st.composite
def kernels(draw) -> Drawn:
    high, wide = draw(st.sampled_from([1, 2, 4, 8, 16, 32])), draw(st.sampled_from([8, 16, 32, 64, 128, 256]))
    rows, width = draw(st.integers(1, 3 * high)), draw(st.integers(max(1, wide // 2), wide))
    one = st.tuples(
        st.sampled_from(["full", "full", "column", "row"]), st.sampled_from(list(DTYPES)), st.sampled_from([0, -2, 5])
    )
    loads = [
        ("full", draw(st.sampled_from(list(DTYPES))), draw(st.sampled_from([0, -2]))),
        *draw(st.lists(one, max_size=2)),
    ]
    steps, count = [], len(loads)
    for _ in range(draw(st.integers(1, 5))):
        name = draw(st.sampled_from([*BINARY, *UNARY, *REDUCE]))
        a = draw(st.integers(0, count - 1))
        if name in BINARY:
            steps.append((name, (a, draw(st.integers(0, count - 1)))))
        elif name in UNARY:
            steps.append((name, (a,)))
        else:
            steps.append((name, (a, draw(st.integers(0, 1)))))
        count += 1
    out = draw(st.sampled_from(["f32", "f32", "f16", "bf16"]))
    return Drawn(high, wide, rows, width, tuple(loads), tuple(steps), out)


@st.composite
def whole_kernels(draw) -> Drawn:
    """With integers of every width, scans and places of the largest. The arithmetic before them stays among eighths of
    small integers, whose every step is exact in both: else a quotient's or an order's jump would meet a rounding."""
    high, wide = draw(st.sampled_from([1, 2, 4, 8, 16])), draw(st.sampled_from([8, 16, 32, 64, 128]))
    rows, width = draw(st.integers(1, 3 * high)), draw(st.integers(max(1, wide // 2), wide))
    types = ["f32", "f16", "i8", "i16", "i32", "i64"]
    loads = [
        (kind, draw(st.sampled_from(types)), 0) for kind in ("full", draw(st.sampled_from(["full", "column", "row"])))
    ]
    exact = ["maximum", "minimum", "abs", *INTEGERS, *INTEGERS, "argmax", "argmin"]
    steps, count = [], len(loads)
    for n in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(exact))
        a, b = draw(st.integers(0, count - 1)), draw(st.integers(0, count - 1))
        if name in INTEGERS:
            steps.append((name, (a, b, draw(st.sampled_from([8, 16, 32, 64])))))
        elif name in BINARY:
            steps.append((name, (a, b)))
        else:
            steps.append((name, (a,) if name in UNARY else (a, draw(st.integers(0, 1)))))
        count += 1
    if draw(st.booleans()):
        steps.append((draw(st.sampled_from(["cumsum", "backwards"])), (count - 1, draw(st.integers(0, 1)))))
    return Drawn(high, wide, rows, width, tuple(loads), tuple(steps), "f32")
