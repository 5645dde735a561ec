"""Which blocks of UB each kind of vector instruction reads and writes, block by block: a copy that nothing orders is a race
exactly there, and nowhere beside it.

Results do not show this: an instruction that computes correctly but records other blocks reports races that are not
there, or none where one is.
"""

from __future__ import annotations

import pytest
from places import KERNELS

import labkit
from labkit.launch import record

BLOCK, LANES, WIDE, TIMES = 32, 40, 20, 2  # as in tests/twin/kernels/footprints.asc
BASE = {"d": 2048 // BLOCK, "a": 8192 // BLOCK, "b": 16384 // BLOCK, "c": 24576 // BLOCK}
NEAR = 24  # blocks behind an operand's first that are tried, and one before it


def lines(blk: int, rep: int, of: int = LANES * 2, times: int = TIMES) -> set[int]:
    """Blocks of `of` bytes a repeat, each repeat in blocks that are `blk` apart."""
    return {i * rep + b * blk for i in range(times) for b in range(-(-of // BLOCK))}


def span(*pieces: tuple[int, int]) -> set[int]:
    """Blocks of pieces (first byte, bytes)."""
    return {b for first, n in pieces for b in range(first // BLOCK, (first + n - 1) // BLOCK + 1)}


ONE, BINARY = dict(d=lines(1, 5), a=lines(2, 7)), dict(d=lines(1, 5), a=lines(2, 7), b=lines(3, 1))
WIDER, NARROW = lines(1, 5, WIDE * 4), lines(2, 7, WIDE * 2)
# what, name, operands: blocks; those that are not named are not touched, those with None depend on data.
# Recorded as one piece each: the offsets of Gather, the source of GatherMask.
FORMS = [
    (0, "Abs", ONE),
    (1, "Add", BINARY),
    (2, "Adds", ONE),
    (3, "MulAddDst", BINARY),
    (4, "Axpy", ONE),
    (5, "Duplicate", dict(d=lines(2, 7))),
    (6, "Copy", ONE),
    (7, "Cast to float", dict(d=WIDER, a=NARROW)),
    (8, "Cast to half", dict(d=lines(1, 5, WIDE * 2), a=lines(2, 7, WIDE * 4))),
    (9, "MulAddDst of two types", dict(d=WIDER, a=NARROW, b=lines(3, 1, WIDE * 2))),
    (10, "CreateVecIndex", dict(d=lines(2, 7) - {0})),  # the first elements come from the scalar unit, which waits
    (11, "CastDequant", ONE),
    (12, "ReduceSum", dict(d={0}, a=lines(1, 7), b={0})),
    (13, "ReduceMax", dict(d={0}, a=lines(1, 7), b={0, 1})),
    (14, "WholeReduceSum", dict(d=span((0, 2), (40, 2)), a=lines(2, 7))),
    (15, "WholeReduceMax", dict(d=span((0, 4), (80, 4)), a=lines(2, 7))),
    (16, "BlockReduceMax", dict(d=span((0, 6), (48, 6)), a=lines(2, 7))),
    (17, "PairReduceSum", dict(d=span((0, 40), (128, 40)), a=lines(2, 7))),
    (18, "Compare", dict(d={0}, a=lines(2, 1, 256), b=lines(1, 9, 256))),
    (19, "CompareScalar", dict(d={0}, a=lines(2, 1, 256))),
    (20, "Select of tensors", BINARY | dict(c={0})),
    (21, "Select with a scalar", ONE | dict(c={0})),
    (22, "Brcb", dict(d=lines(2, 17, 256), a={0})),
    (23, "Gather", dict(d=lines(1, 5), a=None, c=span((0, 512 + LANES * 4)))),
    (24, "GatherMask", dict(d=span((0, LANES * TIMES * 2)), a=set(range(12)))),
    (25, "GatherMask by bits", dict(d=None, a=set(range(12)), c={0, 1})),
    (26, "Transpose", dict(d=lines(1, 0, 512), a=lines(1, 0, 512))),
    (27, "TransDataTo5HD", dict(d={3 * i + r for i in range(16) for r in (0, 1)}, a=set(range(32)))),
    (28, "Sort32", dict(d=lines(1, 8, 256), a=lines(1, 2, 64), c=lines(1, 4, 128))),
    (29, "Relu of a count", dict(d=lines(1, 0), a=lines(1, 0))),
    (30, "Sub of a count", dict(d=lines(1, 0), a=lines(1, 0), b=lines(1, 0))),
    (31, "Cast of a count", dict(d=lines(1, 0, LANES * 4), a=lines(1, 0))),
    (32, "ReduceSum of a count", dict(d={0}, a=lines(1, 0), b=set())),
    (34, "MrgSort of three lists", dict(d=span((0, 224)), a=span((0, 128)), b=span((0, 64)), c=span((0, 32)))),
    (35, "MrgSort twice", dict(d=span((0, 256)), a=span((0, 256)))),
    (33, "Gather of a count", dict(d=lines(1, 0), a=None, c=lines(1, 0, LANES * 4))),
]


@pytest.fixture(scope="module")
def codes():
    import torch

    k, x = labkit.kernel(KERNELS / "footprints.asc"), torch.zeros(64, dtype=torch.int8).npu()

    def run(what: int, block: int) -> list[str]:
        try:
            return k[1](x, what, block).codes()
        except record.LaunchError as error:
            return error.record.codes()

    return run


@pytest.mark.parametrize("what, name, operands", FORMS, ids=[name for _, name, _ in FORMS])
def test_an_instruction_touches_its_blocks_and_no_other(codes, what, name, operands):
    wrong = []
    for operand, base in BASE.items():
        blocks = operands.get(operand, set())
        if blocks is None:
            continue
        for block in range(-1, NEAR if blocks else 3):
            got = codes(what, base + block)
            writes = operand == "d" or (operand == "b" and name.startswith("Reduce"))
            adds = operand == "d" and name.startswith(("MulAddDst", "Axpy"))  # to what stands there, which is read
            races = ["race-raw", "race-waw"] if adds else ["race-waw"] if writes else ["race-raw"]
            want = races if block in blocks else []
            if got != want:
                wrong.append(f"block {block} of {operand}: {got}, not {want}")
    assert not wrong, f"{name}: {len(wrong)} blocks\n" + "\n".join(wrong[:12])
