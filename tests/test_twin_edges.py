"""The checks know their edges exactly: as much as there is passes in silence, one more is found."""
from __future__ import annotations

from pathlib import Path

import pytest

import labkit
from labkit import chips
from labkit.launch import record

UB = chips.load()["memory"]["ub"]
CASES = [  # what, the most that is allowed, the code of one more (or of this much)
    (0, 512, "local-bounds"), (1, 512, "local-bounds"), (2, 256, "local-bounds"), (3, 256, "local-bounds"), (4, 256, "local-bounds"),
    (5, 128, None), (6, 2, "local-bounds"), (7, 13, "local-bounds"), (8, 32, "local-bounds"), (9, 512, ("local-bounds", 544)),
    (10, 512, "local-bounds"), (11, 32, "copy-params"), (12, 24, "gm-bounds"), (13, 1024, "gm-bounds"), (14, 24, "gm-bounds"),
    (15, 255, "local-bounds"), (16, 128, "local-bounds"), (17, 64, "local-bounds"), (18, 16, "local-bounds"), (19, 32, "copy-params"),
    (20, UB, "ub-budget"), (21, 8, "queue-buffers"), (22, UB // 2, "ub-budget"), (23, 2, "queue-depth"), (24, 8, "event-id"),
    (25, 128, "local-bounds"), (26, 8, "event-exhausted")]


@pytest.fixture(scope="module")
def codes():
    import torch
    k = labkit.kernel(Path(__file__).parent / "twin_api" / "edges.asc")
    x = torch.zeros(1024, dtype=torch.int8).npu()
    z = torch.zeros(1024, dtype=torch.int8).npu()

    def run(what, n):
        try:
            return k[1](x, z, what, n).codes()
        except record.LaunchError as error:
            return error.record.codes()
    return run


@pytest.mark.parametrize("what, most, code", CASES)
def test_edge(codes, what, most, code):
    assert codes(what, most) == []
    if code is None:  # more lanes than a repeat has mean all of them
        assert codes(what, most + 1) == []
        return
    code, beyond = code if isinstance(code, tuple) else (code, most + 1)
    assert codes(what, beyond)[:1] == [code]  # what lies behind may be the other operand: then they overlap too
