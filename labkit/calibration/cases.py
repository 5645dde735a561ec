"""The published measurements that the clock is compared with: our own kernels, launched as the sources describe theirs.

What was measured is in data/published_times.csv, each row with its source. A case without a row there has nothing to be
compared with. `fitted`: a constant of the chip table was taken from this case; the others are predictions.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from labkit import paths
from labkit.launch.record import LaunchRecord

KERNELS = Path(__file__).parent / "kernels"
_SQUARE = 8192
_COPIED = 12288


@dataclass(frozen=True)
class Case:
    """One launch. group: the published source; ladder: its place in an optimisation
    that the source describes, slowest first.
    """

    name: str
    group: str
    launch: Callable[["Bench"], LaunchRecord]
    fitted: bool = False
    ladder: str = ""
    chip: str = "910B1"


_BUILT: dict = {}  # file, entry, l2 -> kernel
_MEMORY: dict = {}  # which, dtype -> device memory


@dataclass
class Bench:
    """Kernels and device memory for the cases, each made once. chip: its table is used instead of the case's own."""

    chip: str = "910B1"
    _kernels: dict = field(default_factory=dict)
    _memory: dict = field(default_factory=lambda: _MEMORY)

    def kernel(self, file: str, entry: str | None = None, l2: str = "cold"):
        import labkit

        key = (file, entry, l2)
        if key not in self._kernels:
            if key not in _BUILT:
                home = KERNELS / file if (KERNELS / file).exists() else paths.kernels_dir() / file
                _BUILT[key] = labkit.kernel(home, entry=entry, timing_only=True, timeout=120, l2=l2)
            self._kernels[key] = copy(_BUILT[key])  # built once: a fit asks for it under many tables
            self._kernels[key].chip = self.chip
        return self._kernels[key]

    def memory(self, elements: int, which: int, dtype: str = "float16"):
        """Device memory that is never filled: the clock needs its addresses, not its contents."""
        import torch

        held = self._memory.get((which, dtype))
        if held is None or held.numel() < elements:
            held = self._memory[which, dtype] = torch.empty(elements, dtype=getattr(torch, dtype), device="npu")
        return held


def _add(step: int):
    def launch(b: Bench) -> LaunchRecord:
        all_ = _SQUARE * _SQUARE
        return b.kernel("add_ladder/add_ladder.asc", f"add_ladder<{step}>")[1 if step < 2 else 48](
            b.memory(all_, 0), b.memory(all_, 1), b.memory(all_, 2), _SQUARE, _SQUARE
        )

    return launch


def _banks(src0: int, src1: int, dst: int, blk: int = 1, rep: int = 8):
    def launch(b: Bench) -> LaunchRecord:
        k = b.kernel("banks.asc")
        return k[1](k.struct("Banks", src0=src0, src1=src1, dst=dst, repeats=64, times=1000, blk=blk, rep=rep))

    return launch


def _fractals(column: int):
    def launch(b: Bench) -> LaunchRecord:
        k, all_ = b.kernel("fractals.asc"), _SQUARE * _SQUARE
        return k[48](
            b.memory(all_, 0),
            b.memory(all_, 1),
            k.struct("Turn", m=_SQUARE, n=_SQUARE, tileM=144, tileN=128, column=column, rowParts=6, colParts=8),
        )

    return launch


def _copies(
    to: str,
    m: int,
    n: int,
    tile: tuple[int, int],
    parts: int = 1,
    repeats: int = 1,
    shared: bool = False,
    rotated: bool = False,
):
    def launch(b: Bench) -> LaunchRecord:
        cores = 48 if to == "ub" else 24
        k = b.kernel("copies.asc", f"copies_to_{to}")
        return k[cores](
            b.memory(_COPIED * _COPIED, 0),
            k.struct(
                "Copies",
                m=m,
                n=n,
                share=m // cores,
                tileM=tile[0],
                tileN=tile[1],
                parts=parts,
                repeats=repeats,
                shared=int(shared),
                rotated=int(rotated),
            ),
        )

    return launch


def _products(
    config: str,
    cores: int,
    cores_m: int,
    halves: int,
    single: tuple[int, int],
    base: tuple[int, int],
    depth: tuple[int, int] = (1, 1),
    step: tuple[int, int] = (1, 1),
):
    def launch(b: Bench) -> LaunchRecord:
        k, all_ = b.kernel("products.asc", f"product_{config}"), _SQUARE * _SQUARE
        return k[cores](
            b.memory(all_, 0),
            b.memory(all_, 1),
            b.memory(all_, 2),
            b.memory(1 << 20, 3),
            k.struct(
                "Share",
                coresM=cores_m,
                halves=halves,
                m=_SQUARE,
                n=_SQUARE,
                k=_SQUARE,
                singleM=single[0],
                singleN=single[1],
                baseM=base[0],
                baseN=base[1],
                baseK=64,
                depthA=depth[0],
                depthB=depth[1],
                stepKa=step[0],
                stepKb=step[1],
            ),
        )

    return launch


def _tiles(
    entry: str,
    cores: int,
    size: tuple[int, int, int],
    single: tuple[int, int],
    types: tuple[str, str] = ("float16", "float16"),
    split: int = 1,
):
    def launch(b: Bench) -> LaunchRecord:
        (m, n, k_), k = size, b.kernel("matmul_gelu.asc", f"tiles<{entry}>")
        return k[cores](
            b.memory(m * k_, 0, types[0]),
            b.memory(n * k_, 1, types[0]),
            b.memory(m * n, 2, types[1]),
            k.struct("Tiles", m=m, n=n, k=k_, singleM=single[0], singleN=single[1], splitK=split),
        )

    return launch


def _fused(b: Bench) -> LaunchRecord:
    k, all_ = b.kernel("matmul_gelu.asc", "matmul_gelu"), _SQUARE * _SQUARE
    return k[24](
        b.memory(all_, 0),
        b.memory(all_, 1),
        b.memory(all_, 2, "float32"),
        k.struct("Tiles", m=_SQUARE, n=_SQUARE, k=_SQUARE, singleM=2048, singleN=1536, splitK=1),
    )


def _groups(entry: str, stages: int):
    def launch(b: Bench) -> LaunchRecord:
        (groups, m, n, k_), k = (8, 1024, 8192, 1024), b.kernel("group_gelu.asc", entry)
        return k[24](
            b.memory(groups * m * k_, 0, "int8"),
            b.memory(groups * n * k_, 1, "int8"),
            b.memory(24 * stages * 128 * 256, 2, "int32"),
            b.memory(groups * n, 3, "float32"),
            b.memory(groups * m, 4, "float32"),
            b.memory(groups * m * n, 5),
            k.struct("Groups", groups=groups, m=m, n=n, k=k_, stages=stages),
        )

    return launch


def _dequant(size: tuple[int, int, int], split: int):
    def launch(b: Bench) -> LaunchRecord:
        (m, n, k_), k = size, b.kernel("dequant.asc")
        return k[20](
            b.memory(m * k_, 0, "int8"),
            b.memory(n * k_, 1, "int8"),
            b.memory(m * n, 2, "int32"),
            b.memory(n, 3, "float32"),
            b.memory(m, 4, "float32"),
            b.memory(m * n, 5),
            k.struct("Sizes", m=m, n=n, k=k_, splitK=split),
        )

    return launch


_TILE, _SHORT = 8192, {"relu": "xy", "mul": "xyz", "where": "cxyz", "equal": "xyo"}  # c, o: bytes
_BATCHES = (1, 2, 4, 8, 16, 32, 64)


def _short(operator: str, batch: int):
    """Launched again and again by its source: what counts is the second time, with the L2 warm."""

    def launch(b: Bench) -> LaunchRecord:
        k = b.kernel("short_operators.asc", operator, l2="warm")
        if operator in _SHORT:
            elements = batch * 12 * _TILE
            count = min(20, elements // _TILE)
            share = -(-elements // _TILE // count) * _TILE
            blocks = -(-elements // share)
            memory = [
                b.memory(elements, i, "uint8" if m in "co" else "float16") for i, m in enumerate(_SHORT[operator])
            ]
            sizes = k.struct("Tiles", share=share, last=elements - share * (blocks - 1))
        else:
            rows, blocks, each, wide = batch * 256, 20, 0, 384
            if operator == "softmax":  # at most 255 rows of 32 a block
                wide, blocks = 32, max(20, -(-rows // 255))
                each = -(-rows // blocks)
            memory = [b.memory(rows * wide, 0), b.memory(rows * wide, 1)]
            sizes = k.struct("Rows", rows=rows, blocks=blocks, each=each)
        k[blocks](*memory, sizes)
        return k[blocks](*memory, sizes)

    return launch


def _idle(cores: int, us: float):
    """A kernel of so many cores whose mean time is about that long."""
    return lambda b: b.kernel("short_operators.asc", "idle")[cores](int((us - 0.6) * 134))


def cases() -> list[Case]:
    """All cases, group by group."""
    wide, big = (_COPIED, _COPIED), (_SQUARE, _SQUARE, _SQUARE)
    found = [Case(f"add/{s}", "add_high_performance", _add(s), s < 6, "add") for s in range(7)]
    banks = {
        1: (0, 0x10100, 0x20000),
        2: (0, 0x4000, 0x10000),
        3: (0, 0x10000, 0x14100),
        4: (0, 0x10100, 0x4000),
        5: (0, 0x10100, 0x4020),
        6: (0, 0x10100, 0x10100),
        7: (0, 0x10100, 0x10100, 0, 1),
        8: (0, 0x10100, 0x10100, 0, 8),
    }
    found += [Case(f"banks/{n}", "bank_conflict_ub", _banks(*at), n in (1, 2, 5)) for n, at in banks.items()]
    found += [
        Case(f"fractals/{n}", "bank_conflict_nd2nz", _fractals(column), n == 1, "fractals")
        for n, column in ((1, 144), (2, 145))
    ]
    to_ub = {
        1: _copies("ub", *wide, (1, 64)),
        2: _copies("ub", *wide, (64, 64)),
        3: _copies("ub", *wide, (64, 1024)),
        4: _copies("ub", _COPIED, _COPIED - 1, (64, 1024)),
        5: _copies("ub", *wide, (64, 1024), repeats=4),
        6: _copies("ub", *wide, (64, 1024), parts=4, repeats=4),
        7: _copies("ub", 6144, 512, (128, 64), shared=True),
        8: _copies("ub", 6144, 512, (128, 64), shared=True, rotated=True),
    }
    found += [
        Case(
            f"copy_ub/{n}",
            "data_copy",
            f,
            n not in (5, 6),
            {1: "copy_ub tiles", 2: "copy_ub tiles", 3: "copy_ub tiles", 7: "copy_ub same", 8: "copy_ub same"}.get(
                n, ""
            ),
        )
        for n, f in to_ub.items()
    ]
    to_l1 = {
        1: _copies("l1", *wide, (64, 64)),
        2: _copies("l1", *wide, (64, 256)),
        3: _copies("l1", _COPIED, _COPIED - 1, (64, 256)),
        4: _copies("l1", *wide, (64, 1024), repeats=4),
        5: _copies("l1", *wide, (64, 1024), parts=4, repeats=4),
        6: _copies("l1", 6144, 512, (256, 64), shared=True),
        7: _copies("l1", 6144, 512, (256, 64), shared=True, rotated=True),
    }
    found += [
        Case(
            f"copy_l1/{n}",
            "data_copy",
            f,
            n in (1, 2, 6, 7),
            {1: "copy_l1 tiles", 2: "copy_l1 tiles", 6: "copy_l1 same", 7: "copy_l1 same"}.get(n, ""),
        )
        for n, f in to_l1.items()
    ]
    one, base = (_SQUARE, _SQUARE), (128, 256)
    matmul = {
        0: _products("norm", 1, 1, 1, one, (64, 64)),
        1: _products("norm", 1, 1, 1, one, base),
        2: _products("norm", 24, 2, 1, (4096, 683), base),
        3: _products("norm", 24, 4, 1, (2048, 1536), base),
        4: _products("mdl", 24, 4, 1, (2048, 1536), base, (4, 8), (2, 4)),
        5: _products("mdl", 24, 4, 1, (2048, 1536), base, (16, 8), (8, 4)),
        6: _products("mdl", 24, 4, 2, (1024, 1536), base, (16, 8), (8, 4)),
        7: _products("mdl", 24, 4, 2, (1024, 1536), base, (16, 8), (8, 4)),
        8: _products("mdl_units", 24, 4, 2, (1024, 1536), base, (16, 8), (8, 4)),
    }
    found += [Case(f"matmul/{n}", "matmul_high_performance", f, n in (0, 1, 3), "matmul") for n, f in matmul.items()]
    half = "half, float, half, 128, 256, 256, 64, 1, true"
    found += [
        Case(f"matmul_basic/{n}", "matmul_basic_api_high_performance", _tiles(half, 24, big, (m, 1536)), n == 1)
        for n, m in ((1, 2048), (2, 1024))
    ]
    to_float, floats = "half, float, float, 128, 256, 256, 64, 1", ("float16", "float32")
    by_units = f"{to_float}, true"
    found += [
        Case("matmul_gelu/alone", "matmul_gelu_high_performance", _tiles(by_units, 24, big, (2048, 1536), floats))
    ]
    found += [Case("matmul_gelu/fused", "matmul_gelu_high_performance", _fused)]
    found += [
        Case(f"group_gelu/{s}", "quant_group_matmul_high_performance", _groups(*how), ladder="group_gelu")
        for s, how in ((0, ("group_gelu_1_1", 1)), (2, ("group_gelu_1_2", 4)))
    ]
    found += [
        Case(f"gemm/{n}", "pto-isa gemm_performance", _tiles(to_float, 24, (n, n, n), (n // 4, n // 6), floats))
        for n in (1536, 6144, 7680)
    ]
    thin = (20, 6144, 16384)
    catlass = {
        3: ("half, float, half, 128, 256, 256, 64, 2", thin, (128, 256)),
        4: ("half, float, half, 32, 320, 128, 32, 2", thin, (32, 320)),
        5: ("half, float, half, 128, 256, 256, 64, 0", thin, (128, 256)),
        6: ("half, float, half, 32, 320, 128, 32, 0", thin, (32, 320)),
    }
    found += [
        Case(
            f"catlass/{n}",
            "catlass matmul_optimization",
            _tiles(e, 20, size, single),
            n in (5, 6),
            "catlass zN" if n < 5 else "",
            "910B3",
        )
        for n, (e, size, single) in catlass.items()
    ]
    row, both = (1, 768, 5120), ("float32", "float32")
    found += [
        Case(
            "catlass/7",
            "catlass matmul_optimization",
            _tiles("float, float, float, 128, 128, 256, 64, 1", 24, row, (128, 128), both),
            ladder="catlass row",
        ),
        Case(
            "catlass/8",
            "catlass matmul_optimization",
            _tiles("float, float, float, 16, 32, 1024, 128, 1", 24, row, (16, 32), both),
            ladder="catlass row",
        ),
    ]
    for i, k in enumerate((1024, 2048, 4096, 8192)):
        found += [
            Case(
                f"split_k/{k}/{part}",
                "catlass quant_multi_core_splitk",
                _dequant((128, 256, k), split),
                k == 1024 and part == 1,
                f"split_k {k}",
                "910B3",
            )
            for part, split in ((1, 1), (2, min(k // 512, 16)))
        ]
    fitted = {"relu": _BATCHES, "mul": _BATCHES, "where": (1,), "equal": (1,)}
    found += [
        Case(f"short/{op}/{n}", "cannbot short operators", _short(op, n), n in fitted.get(op, ()), chip="910B4")
        for op in ("relu", "mul", "where", "equal", "expand", "softmax")
        for n in _BATCHES
    ]
    found += [
        Case(f"launch/{cores}/{us}", "public traces", _idle(cores, us), True)
        for cores, times in ((1, (3,)), (12, (3,)), (20, (3,)), (40, (3, 10, 50, 200)), (48, (3, 10, 50, 200)))
        for us in times
    ]
    return found


@lru_cache(maxsize=None)
def published() -> dict[str, dict[str, float]]:
    """case -> what was measured, in us: "task" for the whole, else a pipe's busy time by its name;
    aic.M, aiv.V where both kinds run.
    """
    found: dict[str, dict[str, float]] = {}
    with open(paths.data_dir() / "published_times.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["case"], {})[row["metric"]] = float(row["us"])
    return found
