"""Atomic stores: the arithmetic of every type, the order of the blocks, and where the mode begins and ends."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from same import equal  # noqa: E402
from twin_image import HERE

import labkit

SOURCE = HERE / "atomics.asc"
ENTRIES = {
    "halves": "float16",
    "brains": "bfloat16",
    "floats": "float32",
    "bytes": "int8",
    "shorts": "int16",
    "ints": "int32",
}


def folded(rows, start, op: int):
    """Row after row in the order of the blocks, each sum rounded to the type."""
    import torch

    z = start.clone()
    for row in rows:
        if op == 1:
            z = z + row if z.is_floating_point() is False else (z.float() + row.float()).to(z.dtype)
        else:
            z = torch.maximum(z, row) if op == 2 else torch.minimum(z, row)
    return z


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_type(entry):
    import torch

    dtype = getattr(torch, ENTRIES[entry])
    k = labkit.kernel(SOURCE, entry=entry)
    per = 32 // torch.tensor([], dtype=dtype).element_size()

    @settings(max_examples=20, deadline=None)
    @given(
        st.integers(1, 12),
        st.integers(1, 3),
        st.sampled_from([1, 2, 3]),
        st.integers(0, 2),
        st.integers(1, 70),
        st.integers(0, 99),
    )
    def check(blocks, rounds, op, form, count, seed):
        if form < 2:
            count = -(-count // per) * per
        g = torch.Generator().manual_seed(seed)
        if dtype.is_floating_point:
            x = torch.randn(blocks * rounds, count, generator=g).to(dtype)
            start = torch.randn(count, generator=g).to(dtype)
        else:
            x = torch.randint(-9, 9, (blocks * rounds, count), generator=g).to(dtype)
            start = torch.randint(-9, 9, (count,), generator=g).to(dtype)
        z = start.npu()
        record = k[blocks](x.npu(), z, k.struct("Mode", op=op, form=form, count=count, rounds=rounds))
        assert record.ok and not record.findings, record.report()
        assert equal(z.cpu(), folded(x, start, op))

    check()


def test_the_order_of_the_sums_is_that_of_the_blocks(monkeypatch):
    """Float sums differ with their order: however many host threads there are, it is block after block."""
    import torch

    k = labkit.kernel(SOURCE, entry="floats")
    g = torch.Generator().manual_seed(1)
    x = torch.randn(40 * 8, 512, generator=g) * torch.logspace(-4, 4, 40 * 8)[torch.randperm(40 * 8, generator=g), None]
    want = folded(x, torch.zeros(512), 1)
    assert not torch.equal(want, folded(x.flip(0), torch.zeros(512), 1))
    for threads in (1, 2, 5):
        monkeypatch.setenv("LABKIT_THREADS", str(threads))
        for _ in range(3):
            z = torch.zeros(512).npu()
            record = k[40](x.npu(), z, k.struct("Mode", op=1, form=0, count=512, rounds=8))
            assert record.ok and not record.findings, record.report()
            assert equal(z.cpu(), want)
    assert os.environ["LABKIT_THREADS"] == "5"


def test_modes():
    import torch

    k = labkit.kernel(SOURCE, entry="modes")
    x, z = torch.arange(-4, 4).float(), torch.arange(33).float()
    shown = z.npu()
    record = k[1](x.npu(), shown)
    assert record.ok and not record.findings, record.report()
    as_int = np.maximum(z[8:16].numpy().view(np.int32), x.numpy().view(np.int32)).view(np.float32)
    want = torch.cat([z[:8] + x, torch.from_numpy(as_int), x, z[24:32] + x, torch.tensor([10.0])])
    assert equal(shown.cpu(), want)
