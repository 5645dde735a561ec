"""Cases of notebooks 04.03 and 04.04: residual and RMS norm by hand, an edit of a generated kernel, a case."""

from __future__ import annotations

import random

import torch
from torch.nn import functional as F

from labkit import messages
from labkit.exercises import Case, Out

EPS = 1e-5
ONE_ROUNDING = (2**-11 * 1.01, 1e-7)  # of the exact result: half a unit in the last place of half, and the float's own


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def numbers(seed: int, rows: int, width: int):
    """x, r and w in half. x + r needs more digits than half has."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(-2047, 2048, (rows, width), generator=g) / 512
    r = torch.randint(-2047, 2048, (rows, width), generator=g) / 8192
    w = torch.randint(8, 64, (width,), generator=g) / 32
    return x.half(), r.half(), w.half()


def add_norm(x, r, w):
    """In double."""
    s = x.double() + r.double()
    return s / (s.square().mean(-1, keepdim=True) + EPS).sqrt() * w.double()


def norm_cases(seed, quick):
    """(rows, width, blocks): full 32 bytes and not, one row and several for a block."""
    sizes = ((5, 100, 2), (3, 1024, 1), (9, 777, 4), (1, 16, 1), (4, 4099, 2), (2, 8000, 1))
    made = []
    for rows, width, blocks in sizes[:3] if quick else sizes:
        x, r, w = numbers(seed, rows, width)
        made.append(
            Case(
                f"{rows} rows of {width}",
                (x, r, w, Out(x.shape, x.dtype), rows, width, EPS),
                add_norm(x, r, w),
                ONE_ROUNDING,
                blocks=blocks,
                tile=width,
                layout="interleaved",
                timed=width == 1024,
            )
        )
    return made


# ---- an edit


def edit_cases(seed, quick):
    """(rows, width): one tile for a core, several, and rows that do not fill 32 bytes; up to rows of nearly the most
    that the generator keeps in UB at once (7,000; it writes another kernel for longer ones)."""
    made = []
    draw = random.Random(seed)
    drawn, wide = 16 * draw.randint(70, 110), draw.randint(2000, 6900)
    for rows, width in ((8, 1024), (600, 1024), (300, 1000), (64, drawn), (9, wide), (3, 7000)):
        x, r, _ = numbers(seed, rows, width)
        g = torch.Generator().manual_seed(seed + width)
        w = (torch.randint(1024, 8192, (width,), generator=g) / 4096).half()  # 1 + w needs more digits than half has
        made.append(Case(f"{rows} rows of {width}", (x, r, w), add_norm(x, r, 1 + w.double()), ONE_ROUNDING))
    return made


def run_edit(function, args, case):
    from labkit import fusion

    x, r, w = args
    kernel = fusion.kernel(
        lambda x, r, w: F.rms_norm(x + r, x.shape[-1:], w, EPS), [t.cpu() for t in args], name="norm"
    )
    edited = kernel.use(text=function(kernel.source))
    got = edited(x.npu(), r.npu(), w.npu()).cpu().double()
    errors = [finding for finding in edited.record.findings if finding.severity == "error"]
    if errors and torch.allclose(got, case.expected, *ONE_ROUNDING):  # right by luck
        what = errors[0].lines()[0]
        raise RuntimeError(
            say(
                f"the numbers are right, but the edited kernel has an error in line {errors[0].line}: {what}",
                f"数值正确，但修改后的 kernel 第 {errors[0].line} 行有错误：{what}",
            )
        )
    return got


# ---- the case


def case_input(seed: int, rows: int, width: int):
    """Rows of different sizes, so that a row divided by another row's number shows."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(-64, 65, (rows, width), generator=g) / 16
    return x * (1 + torch.arange(rows) % 7)[:, None]


def repair_cases(seed, quick):
    """(rows, width, blocks): narrow, the width of the case, its neighbours, and the widest."""
    sizes = ((30, 100, 2), (30, 2048, 2), (13, 1984, 1), (30, 2049, 2), (600, 64, 2), (9, 3200, 1), (30, 2041, 2))
    made = []
    for rows, width, blocks in sizes[:5] if quick else sizes:
        x = case_input(seed, rows, width).float()
        s = x.double()
        want = (s / (s.square().mean(-1, keepdim=True) + EPS).sqrt()).float()
        made.append(
            Case(
                f"{rows} rows of {width}",
                (x, Out(x.shape, x.dtype), rows, width, EPS),
                want,
                (1e-5, 1e-6),
                blocks=blocks,
                tile=width,
                layout="interleaved",
                timed=width == 64,
            )
        )
    return made
