"""Which blocks of L1, L0A, L0B and L0C the cube core's instructions read, block by block: a write that nothing orders is a
race exactly there. Results do not show what an instruction has recorded.
"""

from __future__ import annotations

import pytest
from places import KERNELS

import labkit
from labkit.launch import record

FRACTAL = 16  # blocks of 32 bytes
PLANE = 64  # pixels of an image of 8 x 8, a block each


def blocks(*pieces: tuple[int, int]) -> set[int]:
    """Pieces of (first, how many)."""
    return {b for first, n in pieces for b in range(first, first + n)}


# As in tests/twin/kernels/cube_footprints.asc. An image's pixels are read from the first to the last under the filter.
FROM_L1 = {
    "LoadData of fractals 1 and 4": blocks((FRACTAL, FRACTAL), (4 * FRACTAL, FRACTAL)),
    "LoadDataWithTranspose of fractals 1 and 4": blocks((FRACTAL, FRACTAL), (4 * FRACTAL, FRACTAL)),
    "an image's second plane, pixels 16 to 31": blocks((PLANE + 16, 16)),
    "3 x 3 under a border, results 16 to 31": blocks((8, 32)),
    "2 x 2 with stride 2, all 16 results": blocks((0, PLANE)),
    "16 rows, and 16 more behind two times 16": blocks((0, 48)),
    "a bias of float: two times 128 bytes, 64 between": blocks((0, 4), (6, 4)),
    "a bias of half: two times 64 bytes, 64 between": blocks((0, 2), (4, 2)),
    "to GM: two times three blocks, four between": blocks((0, 3), (7, 3)),
}
FROM_L0 = {  # fractals
    "Mmad 32 x 48 of L0A": {0, 1, 2, 3, 4, 5},
    "Mmad 48 x 16 of L0B": {0, 1, 2},
    "Fixpipe 16 x 32, 64 rows from one 16 columns to the next": {0, 4},
}


def races(launch) -> bool:
    try:
        codes = launch().codes()
    except record.LaunchError as error:
        codes = error.record.codes()
    assert codes in ([], ["race-raw"]), codes
    return bool(codes)


@pytest.mark.parametrize("what", FROM_L1)
def test_what_is_read_of_l1(what):
    import torch

    k = labkit.kernel(KERNELS / "cube_footprints.asc", entry="from_l1")
    x, z = (torch.zeros(n, dtype=torch.float16).npu() for n in (64, 4096))
    tried = range(max(FROM_L1[what]) + 20)
    found = {b for b in tried if races(lambda: k[1](x, z, list(FROM_L1).index(what), b))}
    assert found == FROM_L1[what]


@pytest.mark.parametrize("what", FROM_L0)
def test_what_is_read_of_l0(what):
    import torch

    k, z = labkit.kernel(KERNELS / "cube_footprints.asc", entry="from_l0"), torch.zeros(4096).npu()
    found = {b for b in range(8) if races(lambda: k[1](z, list(FROM_L0).index(what), b))}
    assert found == FROM_L0[what]
