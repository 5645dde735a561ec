"""Cases of the mixed kernels: C = leaky_relu(A B), A and B half, C float; the cube cores multiply, the vector cores do
the rest.
"""

from __future__ import annotations

import ctypes
import re

import torch

from labkit import messages
from labkit.exercises import Case, Out

TOLERANCE = (1e-4, 1e-3)
SIDE = 128  # rows of a tile
SLOTS = 2  # of the kernels with a ring
TILING_WORDS = 50


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def golden(a, b):
    return torch.nn.functional.leaky_relu(a.double() @ b.double(), 0.01).float()


def _case(seed, m, n, k, blocks, room, more=None):
    g = torch.Generator().manual_seed(seed)
    a, b = torch.randn(m, k, generator=g).half(), torch.randn(k, n, generator=g).half()
    args = (a, b, Out((m, n), torch.float32), *([torch.full((room,), -77.0), m, n, k] if more is None else more))
    return Case(f"m={m} n={n} k={k}", args, golden(a, b), TOLERANCE, blocks=blocks, tile=SIDE * n, layout="interleaved")


def whole_cases(seed, quick):
    """(m, n, k, blocks); the workspace holds the whole product. At most 15 tiles a block: more a flag cannot count."""
    sizes = (
        (64, 16, 16, 1),
        (128, 128, 128, 1),
        (200, 72, 100, 1),
        (300, 64, 48, 2),
        (1000, 32, 64, 3),
        (1920, 128, 64, 1),
    )
    return [_case(seed, m, n, k, blocks, m * n) for m, n, k, blocks in (sizes[1:5] if quick else sizes)]


def half_cases(seed, quick):
    """Tails of an odd number of rows, and of a single one."""
    sizes = (
        (2, 16, 16, 1),
        (128, 128, 128, 1),
        (127, 64, 64, 1),
        (195, 72, 100, 1),
        (257, 48, 32, 3),
        (641, 32, 64, 2),
    )
    return [_case(seed, m, n, k, blocks, 0, (m, n, k)) for m, n, k, blocks in (sizes[1:5] if quick else sizes)]


def ring_cases(seed, quick):
    """One tile, fewer tiles than slots, many rounds over the slots."""
    sizes = (
        (100, 16, 16, 1),
        (256, 128, 64, 1),
        (384, 72, 100, 1),
        (641, 64, 64, 2),
        (2500, 32, 32, 1),
        (5000, 128, 64, 4),
    )
    return [
        _case(seed, m, n, k, blocks, SLOTS * blocks * SIDE * SIDE)
        for m, n, k, blocks in (sizes[1:5] if quick else sizes)
    ]


def case_cases(seed, quick):
    """Tails above and below half a tile."""
    sizes = (
        (128, 64, 64, 1),
        (256, 64, 64, 1),
        (200, 72, 100, 1),
        (192, 64, 64, 1),
        (130, 64, 64, 1),
        (700, 32, 64, 2),
        (1, 16, 16, 1),
    )
    return [
        _case(seed, m, n, k, blocks, SLOTS * blocks * SIDE * SIDE)
        for m, n, k, blocks in (sizes[1:5] if quick else sizes)
    ]


def object_cases(seed, quick):
    sizes = ((128, 128, 64), (64, 128, 16), (256, 256, 100), (200, 128, 64), (130, 256, 77), (1000, 384, 256))
    made = []
    for m, n, k in sizes[2:5] if quick else sizes:
        parts = -(-m // SIDE) * (n // SIDE)
        made.append(_case(seed, m, n, k, -(-parts // 2), 0, ((m, n, k),)))
    return made


def run_twice(kernel, args, case):
    """First as usual; then, on the twin, with every copy as late as the flags allow: a flag set too early shows in the
    numbers.
    """
    from dataclasses import replace

    record, c = kernel[case.blocks](*args), args[2]
    if kernel.target == "twin" and record.ok and torch.allclose(c.cpu(), case.expected, *TOLERANCE):
        for tensor in args[2:4]:  # c, and the workspace
            if hasattr(tensor, "fill_"):
                tensor.fill_(-77)
        record = replace(kernel, schedule="worst")[case.blocks](*args)
    return record


def run_halves(kernel, args, case):
    """run_twice; then, on the twin, whether each vector core has read its half: right numbers do not show it."""
    record, (m, n, _) = run_twice(kernel, args, case), args[3:]
    right = record.ok and torch.allclose(args[2].cpu(), case.expected, *TOLERANCE)
    for core in record.cores if right and kernel.target == "twin" else ():
        block, who = core["block"], core["core"]
        if who == 2:  # the cube core
            continue
        tiles = [min(SIDE, m - row) for row in range(block * SIDE, m, case.blocks * SIDE)]
        half = sum((high + 1 - who) // 2 for high in tiles)
        read = round(core["bytes.to_ub"] / (4 * n))
        if read != half:
            _refuse(
                kernel,
                say(
                    f"vector core {who} of block {block} reads {read} rows, and its halves have {half}",
                    f"{block} 号 block 的 {who} 号矢量核读了 {read} 行，而它的那一半共 {half} 行",
                ),
            )
    return record


def _refuse(kernel, told: str):
    from labkit.launch.record import LaunchError, LaunchRecord

    name = kernel.signature.name
    raise LaunchError(LaunchRecord(kernel.target, name, 0, 0.0, "modelled", kernel.chip, finished=False, crashed=told))


def run_object(kernel, args, case):
    """With the tiling of the finished file."""
    import labkit
    from labkit.launch.host_function import host_function

    a, b, c, (m, n, k) = args
    words = (ctypes.c_int32 * TILING_WORDS)()
    assert (
        host_function(labkit.kernel("kernels/matmul_leaky/leaky_object.asc", entry="leaky_object"), "make_tiling")(
            m, n, k, words
        )
        == 0
    )
    return kernel[case.blocks](a, b, c, torch.zeros(1 << 22, dtype=torch.uint8).npu(), words)


def object_asked(text, builds):
    """What the last arguments of GetTensorC say, where they stand there: the twin packs the rows either way."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    call = re.search(
        r"GetTensorC\s*(?:<\s*(\w+)\s*>)?\s*\(([^()]*)\)", re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
    )
    if not call:
        return ""
    _, added, packed, *_ = [*(part.strip() for part in call[2].split(",")), "", "", ""]
    if call[1] in ("false", "0"):
        return say(
            "GetTensorC<false> does not wait for the block: what follows may read the buffer before it is filled.",
            "GetTensorC<false> 不等待数据到达：后面可能在缓冲区填好之前就读取。",
        )
    if added in ("true", "1"):
        return say(
            "The second argument of GetTensorC is true: the block would be added to what the buffer holds.",
            "GetTensorC 的第二个参数为 true：基本块会与缓冲区原有内容相加。",
        )
    if packed in ("", "false", "0"):
        return say(
            "The third argument of GetTensorC is false, as it is by default: the rows would lie as far apart as in the "
            "whole part, and not packed.",
            "GetTensorC 的第三个参数为 false（默认值）：各行会按整个部分的行距存放，而不是紧挨着。",
        )
    return ""
