"""What a kernel can ask the system for: its number, tiling, workspace, lists of tensors; and what it can print."""

from __future__ import annotations

import struct

import pytest
from twin_image import HERE

import labkit

SOURCE = HERE / "system.asc"
TILING = struct.pack("<QIIIfHxx4x", 1 << 40, 11, 22, 33, 2.5, 65535)


@pytest.mark.parametrize("key, seen", [(0, 0), (7, 7), (8, 89), (9, 89), (1 << 60, 1 << 60)])
def test_tiling_and_its_key(key, seen):
    import torch

    k = labkit.kernel(SOURCE, entry="tiling", tiling_key=key)
    z = torch.zeros(9, dtype=torch.int64).npu()
    record = k[1](z, torch.zeros(64, dtype=torch.uint8).npu(), TILING)
    assert record.ok and not record.findings, record.report()
    assert z.cpu().tolist() == [1 << 40, 65535, 22, 10, 33, 11, seen, 1, 0]


def test_the_users_workspace_lies_behind_the_systems():
    """16 MB behind, where that much was allocated; a short workspace is the user's own."""
    import torch

    k = labkit.kernel(SOURCE, entry="tiling")
    for size, offset in ((1024, 0), (16 << 20, 0), ((16 << 20) + 64, 16 << 20)):
        z = torch.zeros(9, dtype=torch.int64).npu()
        assert k[1](z, torch.zeros(size, dtype=torch.uint8).npu(), TILING).ok
        assert z.cpu().tolist()[8] == offset


def test_a_tiling_struct_that_is_not_all_there():
    import torch

    k = labkit.kernel(SOURCE, entry="tiling")
    record = k[1](torch.zeros(9, dtype=torch.int64).npu(), torch.zeros(64, dtype=torch.uint8).npu(), TILING[:16])
    assert "gm-bounds" in record.codes()


@pytest.mark.parametrize("entry, dtype", [("stepped<float, 2>", "float32"), ("stepped<half, 3>", "float16")])
def test_a_template_kernel_with_selectors(entry, dtype):
    import torch

    z = torch.zeros(8, dtype=getattr(torch, dtype)).npu()
    assert labkit.kernel(SOURCE, entry=entry)[1](z).ok
    assert z.cpu().tolist() == [i * (2 if dtype == "float32" else 3) for i in range(8)]


def test_a_list_of_tensors():
    """Shapes first, then pointers, behind a word that says how far they are."""
    import torch

    tensors = [torch.rand(3, 4).npu(), torch.rand(1, 7).npu()]
    words = [8 * (1 + 3 * len(tensors))]
    for i, t in enumerate(tensors):
        words += [2 | (len(tensors) if i == 0 else i) << 32, *t.shape]
    words += [t.data_ptr() for t in tensors]
    z = torch.zeros(9).npu()
    record = labkit.kernel(SOURCE, entry="listed")[1](torch.tensor(words).npu(), z)
    assert record.ok, record.report()
    got = z.cpu().tolist()
    assert got[0] == 2 and got[1:4] == [2, 3, 4] and got[5:8] == [2, 1, 7]
    for at, t in ((4, tensors[0]), (8, tensors[1])):
        assert got[at] == pytest.approx(t.cpu().sum().item(), rel=1e-5)


def test_variables_and_words():
    import torch

    z = torch.zeros(3, 16, dtype=torch.int32).npu()
    record = labkit.kernel(SOURCE, entry="variables")[3](z)
    assert record.ok and not record.findings, record.report()
    for block, row in enumerate(z.cpu().tolist()):
        assert row[:12] == [block, 3, 0, 1, 1, 0x220, 32, 1, 1, 1, 1, 5]
    lines = record.output.splitlines()
    assert sum("two words, one line" in line for line in lines) == 1 and any("desc=56" in line for line in lines)
    assert [line for line in lines if "descId" in line] == []
