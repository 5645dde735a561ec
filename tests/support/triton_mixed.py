"""Triton kernels for both kinds of cores: attention, and kernels by chance in which products and vector steps alternate.

The rule of the drawn ones: an order (dot-vector-dot, vector-dot-vector, or a loop over blocks of keys with a carried
sum), sides of 16 to 128, a type, ragged rows, which operands are transposes, steps before, between and behind the
products. The reference is PyTorch in float32 on the padded tiles, rounded where the kernel rounds.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

import torch
import triton
import triton.language as tl
from hypothesis import strategies as st

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
UNIT = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 2e-5}
STEPS = {  # of a tile v with rows r and columns c
    "relu": ("tl.maximum(v, 0.0)", lambda v, r, c: v.clamp(min=0)),
    "half": ("v * 0.5", lambda v, r, c: v * 0.5),
    "column": ("v + r[:, None] * 0.125", lambda v, r, c: v + r[:, None] * 0.125),
    "causal": ("tl.where(r[:, None] >= c[None, :], v, -1.0)", lambda v, r, c: torch.where(r[:, None] >= c, v, -1.0)),
    "highest": ("v - tl.max(v, 1)[:, None]", lambda v, r, c: v - v.amax(1, keepdim=True)),
    "share": ("v / (1.0 + tl.sum(tl.abs(v), 1))[:, None]", lambda v, r, c: v / (1 + v.abs().sum(1, keepdim=True))),
    "exp": ("tl.exp(-tl.abs(v))", lambda v, r, c: torch.exp(-v.abs())),
}


@triton.jit
def _range(acc, total, most, q, keys, values, first, low, high, scale, BM: tl.constexpr, BN: tl.constexpr,
           MASKED: tl.constexpr):  # fmt: skip
    rows = first + tl.arange(0, BM)
    for n in tl.range(low, high, BN):
        scores = tl.dot(q, keys.load([n, 0]).T) * scale
        if MASKED:
            scores = tl.where(rows[:, None] >= (n + tl.arange(0, BN))[None, :], scores, -1.0e6)
        now = tl.maximum(most, tl.max(scores, 1))
        p = tl.exp(scores - now[:, None])
        less = tl.exp(most - now)
        total = total * less + tl.sum(p, 1)
        acc = tl.dot(p.to(q.dtype), values.load([n, 0]), acc * less[:, None])
        most = now
    return acc, total, most


@triton.jit
def attention(q, k, v, out, scale, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr):
    """One head in each program of the second dimension; N keys, a multiple of the blocks."""
    first, head = tl.program_id(0) * BM, tl.program_id(1) * N * D
    queries = tl.make_tensor_descriptor(q + head, [N, D], [D, 1], [BM, D])
    keys = tl.make_tensor_descriptor(k + head, [N, D], [D, 1], [BN, D])
    values = tl.make_tensor_descriptor(v + head, [N, D], [D, 1], [BN, D])
    to = tl.make_tensor_descriptor(out + head, [N, D], [D, 1], [BM, D])
    mine = queries.load([first, 0])
    acc, total = tl.zeros([BM, D], tl.float32), tl.zeros([BM], tl.float32)
    most = tl.zeros([BM], tl.float32) - 1.0e9
    if CAUSAL:
        acc, total, most = _range(acc, total, most, mine, keys, values, first, 0, first, scale, BM, BN, False)
        acc, total, most = _range(acc, total, most, mine, keys, values, first, first, first + BM, scale, BM, BN, True)
    else:
        acc, total, most = _range(acc, total, most, mine, keys, values, first, 0, N, scale, BM, BN, False)
    to.store([first, 0], (acc / total[:, None]).to(q.dtype.element_ty))


def attend(heads: int, n: int, d: int, blocks: tuple[int, int], causal: bool) -> float:
    """The largest error of attention in units of 0.001."""
    generator = torch.Generator().manual_seed(n + d)
    q, k, v = (torch.randint(-8, 9, (heads, n, d), generator=generator) / 8 for _ in range(3))
    out = torch.zeros(heads, n, d, dtype=torch.float16).npu()
    bm, bn = blocks
    attention[(n // bm, heads)](*(x.half().npu() for x in (q, k, v)), out, d**-0.5, n, D=d, BM=bm, BN=bn, CAUSAL=causal)
    scores = q @ k.transpose(1, 2) * d**-0.5
    if causal:
        scores = scores.masked_fill(torch.ones(n, n).triu(1) > 0, float("-inf"))
    return float((out.cpu().float() - torch.softmax(scores, -1) @ v).abs().max()) / 1e-3


@dataclass(frozen=True)
class Mixed:
    """x [M, K], y [K, N], z [N, P], rows of x that count: `rows`. before, between, behind: names of STEPS."""

    order: str
    sides: tuple[int, int, int, int]
    rows: int
    dtype: str
    turned: str
    before: tuple
    between: tuple
    behind: tuple
    times: int = 1

    def source(self) -> str:
        loop = self.order == "loop"
        p = "    " * (2 if loop else 1)
        lines = ["import triton", "import triton.language as tl", "", "", "@triton.jit"]
        lines += ["def mixed(x, y, z, out, rows, times, M: tl.constexpr, K: tl.constexpr, N: tl.constexpr,"]
        lines += ["          P: tl.constexpr):", "    m = tl.program_id(0) * M + tl.arange(0, M)"]
        lines += ["    k, n, p = tl.arange(0, K), tl.arange(0, N), tl.arange(0, P)"]
        at = "k[None, :] * rows + m[:, None]" if "x" in self.turned else "m[:, None] * K + k[None, :]"
        lines += [f"    left = tl.load(x + {at}, mask=(m < rows)[:, None], other=0.0)"]
        if self.before:
            lines += ["    u = left.to(tl.float32)", *self._steps(self.before, "    u", "k")]
            lines += ["    left = u.to(x.dtype.element_ty)"]
        lines += ["    acc = tl.zeros((M, P), tl.float32)"]
        if loop:
            lines += ["    for t in range(0, times * N, N):", "        n = t + tl.arange(0, N)"]
        at = "n[None, :] * K + k[:, None]" if "y" in self.turned else "k[:, None] * times * N + n[None, :]"
        lines += [f"{p}v = tl.dot(left, tl.load(y + {at}))", *self._steps(self.between, f"{p}v", "n")]
        if self.order != "vector-dot-vector":
            at = "p[None, :] * times * N + n[:, None]" if "z" in self.turned else "n[:, None] * P + p[None, :]"
            start = "acc * 0.5" if loop else "acc"
            lines += [f"{p}acc = tl.dot(v.to(x.dtype.element_ty), tl.load(z + {at}), {start})"]
            lines += self._steps(self.behind, "    acc", "p")
        to = "n" if self.order == "vector-dot-vector" else "p"
        size, last = ("N", "v") if to == "n" else ("P", "acc")
        lines += [f"    tl.store(out + m[:, None] * {size} + {to}[None, :], {last}, mask=(m < rows)[:, None])"]
        return "\n".join(lines) + "\n"

    def _steps(self, names, to: str, column: str) -> list[str]:
        named = {"v": to.strip(), "r": "m", "c": column}
        word = re.compile(r"\b[vrc]\b")
        return [f"{to} = " + word.sub(lambda m: named[m[0]], STEPS[name][0]) for name in names]

    def run(self, folder: Path) -> tuple[torch.Tensor, torch.Tensor]:
        """(what the kernel gives, what it should)."""
        file = folder / f"mixed_{abs(hash(self.source())) % 10**12}.py"
        file.write_text(self.source())
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        (m, k, n, p), kind = self.sides, DTYPES[self.dtype]
        generator = torch.Generator().manual_seed(m + k + n + p + self.rows)
        shapes = (self.rows, k), (k, self.times * n), (self.times * n, p)
        x, y, z = ((torch.randint(-8, 9, s, generator=generator) / 8).to(kind) for s in shapes)
        out = torch.zeros(self.rows, n if self.order == "vector-dot-vector" else p).npu()
        given = [(a.t().contiguous() if name in self.turned else a).npu() for name, a in zip("xyz", (x, y, z))]
        module.mixed[(-(-self.rows // m),)](*given, out, self.rows, self.times, M=m, K=k, N=n, P=p)
        return out.cpu(), self.reference(x, y, z)

    def reference(self, x, y, z) -> torch.Tensor:
        (_, k, n, p), kind = self.sides, DTYPES[self.dtype]
        r = torch.arange(self.rows)

        def steps(names, v, c):
            for name in names:
                v = STEPS[name][1](v, r, c)
            return v

        left, y, z = steps(self.before, x.float(), torch.arange(k)).to(kind).float(), y.float(), z.float()
        acc = torch.zeros(self.rows, p)
        for t in range(self.times):
            c = torch.arange(t * n, t * n + n)
            v = steps(self.between, left @ y[:, t * n : t * n + n], c)
            if self.order == "vector-dot-vector":
                return v
            acc = (acc * 0.5 if self.order == "loop" else acc) + v.to(kind).float() @ z[t * n : t * n + n]
        return steps(self.behind, acc, torch.arange(p))

    def wrong(self, got: torch.Tensor, want: torch.Tensor) -> float:
        """The largest error in units of what the operands' type can hold of the largest number: above 1 is wrong."""
        return float((got - want).abs().max() / (UNIT[self.dtype] * want.abs().max().clamp(min=1)))


@st.composite
def kernels(draw) -> Mixed:
    order = draw(st.sampled_from(["dot-vector-dot", "vector-dot-vector", "loop"]))
    sides = tuple(draw(st.sampled_from([16, 32, 64, 64, 128])) for _ in range(4))
    steps = st.lists(st.sampled_from(list(STEPS)), max_size=2).map(tuple)
    before = draw(st.lists(st.sampled_from(list(STEPS)), min_size=1, max_size=2).map(tuple) if order[0] == "v" else
                  st.one_of(st.just(()), steps))  # fmt: skip
    turned = "".join(n for n in "xyz" if draw(st.booleans()))
    return Mixed(
        order, sides, draw(st.integers(1, 2 * sides[0])), draw(st.sampled_from(list(DTYPES))), turned, before,
        draw(steps), draw(steps), draw(st.integers(1, 3)) if order == "loop" else 1,
    )  # fmt: skip
