"""Products for the tests of Matmul objects: tilings by hand,
operands of whole numbers (so that sums are exact), results.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from places import KERNELS

import labkit
from labkit.build import headers

FILE = KERNELS / "matmul.asc"
KINDS = re.findall(r"// (\w+)$", FILE.read_text().partition("switch (ask.kind)")[2], re.M)
C0 = {"half": 16, "bf16": 16, "float": 8, "int8": 32}


def up(a: int, b: int) -> int:
    return -(-a // b) * b


def tiling_fields() -> list[str]:
    text = (headers.TREES["kernel"] / "twin" / "base" / "tiling_structs.h").read_text()
    return re.findall(r"F\(\w+, (\w+)\)", re.search(r"TWIN_FIELDS_TCubeTiling\(F\)(.*?)\n#define", text, re.S)[1])


def tiling(m: int, n: int, k: int, base=(32, 32, 32), single=None, cores=1, **fields) -> np.ndarray:
    single = single or (m, n, k)
    known = (
        dict(
            usedCoreNum=cores,
            M=m,
            N=n,
            Ka=k,
            Kb=k,
            singleCoreM=single[0],
            singleCoreN=single[1],
            singleCoreK=single[2],
            baseM=base[0],
            baseN=base[1],
            baseK=base[2],
            depthA1=2,
            depthB1=2,
            stepM=1,
            stepN=1,
            stepKa=1,
            stepKb=1,
            dbL0A=2,
            dbL0B=2,
            dbL0C=1,
        )
        | fields
    )
    return np.array([known.get(f, 0) for f in tiling_fields()], np.int32)


def to_nz(x: np.ndarray, c0: int) -> np.ndarray:
    """[r][c] as fractals: [c / c0][r up to 16][c0]."""
    rows, cols = up(x.shape[0], 16), up(x.shape[1], c0)
    full = np.zeros((rows, cols), x.dtype)
    full[: x.shape[0], : x.shape[1]] = x
    return full.reshape(rows, cols // c0, c0).transpose(1, 0, 2).copy()


def from_nz(flat: np.ndarray, rows: int, cols: int, c0: int) -> np.ndarray:
    tall = up(rows, 16)
    return flat[: tall * up(cols, c0)].reshape(-1, tall, c0).transpose(1, 0, 2).reshape(tall, -1)[:rows, :cols]


def torch_of(x: np.ndarray, kind: str):
    import torch

    types = {
        "half": torch.float16,
        "bf16": torch.bfloat16,
        "float": torch.float32,
        "int8": torch.int8,
        "int32": torch.int32,
        "uint64": torch.int64,
    }
    return torch.from_numpy(np.ascontiguousarray(x)).to(types[kind])


@lru_cache
def kernel(**settings):
    return labkit.kernel(FILE, **settings)


@dataclass
class Case:
    entry: str
    m: int
    n: int
    k: int
    a: str = "half"
    c: str = "float"
    bias_type: str = "float"
    a_nz: bool = False
    b_nz: bool = False
    c_nz: int = 0  # its c0
    align: bool = False
    base: tuple = (32, 32, 32)
    single: tuple | None = None
    trans_a: bool = False
    trans_b: bool = False
    bias: bool = False
    way: int = 0
    atomic: int = 0
    hf32: int = 0
    quant: list = field(default_factory=list)  # raw parameters: one, or one a column
    seed: int = 0
    fields: dict = field(default_factory=dict)
    launch: dict = field(default_factory=dict)

    def parts(self) -> list[int]:
        single = self.single or (self.m, self.n, self.k)
        return [-(-whole // part) for whole, part in zip((self.m, self.n, self.k), single)]

    def run(self) -> tuple[np.ndarray, np.ndarray, object]:
        """C, what it should be (as exact sums, before conversion), and the record."""
        import torch

        rng = np.random.default_rng(self.seed)
        most = 8 if self.c in ("half", "bf16") else 100 if self.a == "int8" else 30
        a = rng.integers(-most, most + 1, (self.m, self.k)).astype(np.float64)
        b = rng.integers(-most, most + 1, (self.k, self.n)).astype(np.float64)
        if self.hf32:
            a, b = (x + rng.integers(0, 4096, x.shape) / 4096 for x in (a, b))
        bias = rng.integers(-50, 50, self.n).astype(np.float64)
        exact = a @ b + (bias if self.bias else 0)
        stored_a, stored_b = a.T if self.trans_a else a, b.T if self.trans_b else b
        side_a = to_nz(stored_a, C0[self.a]) if self.a_nz else stored_a
        side_b = to_nz(stored_b, C0[self.a]) if self.b_nz else stored_b
        wide = (
            up(self.n, self.c_nz)
            if self.c_nz
            else up(self.n, 32 // (4 if self.c in ("float", "int32") else 1 if self.c == "int8" else 2))
            if self.align
            else self.n
        )
        tall = up(self.m, 16) if self.c_nz else self.m
        pm, pn, pk = self.parts()
        before = rng.integers(-3, 4, tall * wide).astype(np.float64) if self.atomic else np.full(tall * wide, 77.0)
        c = torch_of(before, self.c).npu()
        t = tiling(self.m, self.n, self.k, self.base, self.single, pm * pn * pk, isBias=int(self.bias), **self.fields)
        work = torch.zeros(pm * pn * pk * 4 * int(t[5] * t[6]) + 64 * 1024, dtype=c.dtype).npu()
        k = kernel(**self.launch)
        ask = k.struct(
            "Ask",
            kind=KINDS.index(self.entry),
            way=self.way,
            transA=int(self.trans_a),
            transB=int(self.trans_b),
            bias=int(self.bias),
            atomic=self.atomic,
            hf32=self.hf32,
            quant=min(2, len(self.quant)),
            parts_m=pm,
            parts_n=pn,
            parts_k=pk,
        )
        quant = torch.from_numpy(np.array(self.quant or [0], np.uint64).view(np.int64)).npu()
        record = k[-(-pm * pn * pk // 2)](
            torch_of(side_a, self.a).npu(),
            torch_of(side_b, self.a).npu(),
            torch_of(bias, self.bias_type).npu(),
            c,
            work,
            quant,
            torch.from_numpy(t).npu(),
            ask,
        )
        got = c.cpu().to(torch.float64).numpy()
        if self.atomic:
            exact = exact + before.reshape(self.m, self.n) if self.atomic == 1 else exact
        self.a_values, self.b_values, self.before = a, b, before
        assert not self.align or not got.reshape(tall, wide)[:, self.n :].any(), "not filled up with zeros"
        got = from_nz(got, self.m, self.n, self.c_nz) if self.c_nz else got.reshape(tall, wide)[:, : self.n]
        return got, exact, record
