"""Cases of stage 07: exercises in Triton. Numbers are eighths, so that sums are exact in any order."""

from __future__ import annotations

import torch

from labkit import messages
from labkit.exercises import Case, Out

HALF, FLOAT = torch.float16, torch.float32


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def eighths(seed: int, *shape: int, most: int = 32):
    return torch.randint(-most, most + 1, shape, generator=torch.Generator().manual_seed(seed)) / 8


def cdiv(a: int, b: int) -> int:
    return -(-a // b)


# ---- 07.01


def first_cases(seed, quick):
    """Lengths below a tile, a whole number of tiles, and with a tail."""
    made, tile = [], 1024
    for n in (5, 1024, 3000) if quick else (1, 5, 1023, 1024, 4096, 5001, 70_000):
        x, r = eighths(seed, n), eighths(seed + 1, n)
        blocks = cdiv(n, tile)
        made.append(
            Case(f"n={n}", (x, r, Out(n, FLOAT), n, tile), (0.75 * x + r).clamp(min=0), blocks=blocks, tile=tile)
        )
    return made


def rows_cases(seed, quick):
    """Rows that fill BLOCK and rows that do not; some are all negative."""
    made = []
    for rows, width, block in ((3, 64, 64), (5, 100, 128)) if quick else ((3, 64, 64), (5, 100, 128), (7, 1000, 1024)):
        x = eighths(seed, rows, width) - 6 * (torch.arange(rows) % 2)[:, None]
        want = x.max(1).values, x.double().mean(1).float()
        args = x, Out(rows, FLOAT), Out(rows, FLOAT), width, block
        made.append(Case(f"{rows} rows of {width}", args, want, (1e-6, 1e-6), blocks=rows, tile=1))
    return made


# ---- 07.02


def column_cases(seed, quick):
    made = []
    for rows, columns in ((8, 64), (70, 100)) if quick else ((8, 64), (1, 5), (70, 100), (300, 1000)):
        x = eighths(seed, rows, columns)
        args = x, Out(columns, FLOAT), rows, columns, 32, 64
        made.append(Case(f"{rows} x {columns}", args, x.sum(0), blocks=cdiv(columns, 64), tile=64))
    return made


def where_cases(seed, quick):
    made = []
    for n in (16, 29) if quick else (16, 1, 29, 100, 128):
        x, high = eighths(seed, n, n), 32
        args = x, Out((n, n), FLOAT), n, high, 128
        made.append(Case(f"{n} x {n}", args, x.tril(), blocks=cdiv(n, high), tile=high * n))
    return made


def case_cases(seed, quick):
    """Widths that are a power of two come first."""
    made = []
    for rows, width, block in (
        ((4, 64, 64), (4, 100, 128)) if quick else ((4, 64, 64), (9, 256, 256), (4, 100, 128), (7, 777, 1024))
    ):
        x = eighths(seed, rows, width)
        want = x / x.abs().max(1, keepdim=True).values
        made.append(
            Case(f"{rows} rows of {width}", (x, Out((rows, width), FLOAT), width, block), want, blocks=rows, tile=width)
        )
    return made


# ---- 07.03


def pair(seed, m, n, k):
    return eighths(seed, m, k, most=8).half(), eighths(seed + 1, k, n, most=8).half()


def dot_cases(seed, quick):
    """(M, N, K): whole tiles; a rest along each; a depth of several tiles."""
    made = []
    for m, n, k in ((32, 64, 32), (40, 70, 50)) if quick else ((32, 64, 32), (40, 70, 50), (33, 65, 96), (64, 64, 200)):
        a, b = pair(seed, m, n, k)
        args = a, b, Out((m, n), FLOAT), m, n, k, 32, 64, 32
        made.append(Case(f"{m} x {n} x {k}", args, (a.double() @ b.double()).float(), tile=n))
    return made


def run_grid(kernel, args, case):
    """One program for each tile of the result; M and N, BM and BN are arguments."""
    m, n, _, bm, bn = args[-6:-1]
    return kernel[cdiv(m, bm), cdiv(n, bn)](*args)


def act_cases(seed, quick):
    made = []
    for m, n, k in ((32, 64, 32), (40, 70, 50)) if quick else ((32, 64, 32), (40, 70, 50), (100, 130, 64)):
        (a, b), bias = pair(seed, m, n, k), eighths(seed + 2, n).half()
        z = a.double() @ b.double() + bias.double()
        args = a, b, bias, Out((m, n), HALF), m, n, k, 32, 64, 32
        made.append(Case(f"{m} x {n} x {k}", args, (z / (1 + torch.exp(-z))).half(), tile=n))
    return made


def tune_cases(seed, quick):
    m, n, k = 512, 512, 256
    a, b = pair(seed, m, n, k)
    return [
        Case(f"{m} x {n} x {k}", (a, b, Out((m, n), FLOAT), m, n, k), (a.double() @ b.double()).float(), timed=True)
    ]


def run_tune(kernel, args, case):
    m, n = args[3:5]
    return kernel[lambda meta: (cdiv(m, meta["BM"]), cdiv(n, meta["BN"]))](*args)
