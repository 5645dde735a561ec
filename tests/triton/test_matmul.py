"""tl.dot on the cube core, alone and with an epilogue on the vector cores."""

from __future__ import annotations

import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux x86_64 and aarch64 only")
torch = pytest.importorskip("torch")

import labkit.triton

labkit.triton.install()
import triton_kernels as kernels

from labkit.triton.refused import Refused

CASES = {  # m, n, k, blocks, type of the operands and of the result, which of them is a transpose, epilogue
    "ragged": (100, 130, 70, (32, 64, 32), torch.float16, torch.float16, "", ""),
    "turned left": (64, 48, 64, (32, 16, 32), torch.bfloat16, torch.bfloat16, "a", ""),
    "both turned": (90, 50, 70, (32, 64, 32), torch.float16, torch.float32, "ab", ""),
    "turned right, ragged": (33, 50, 70, (16, 32, 64), torch.bfloat16, torch.float32, "b", ""),
    "a depth in pieces of L0": (128, 128, 512, (128, 128, 512), torch.float16, torch.float32, "", ""),
    "leaky": (100, 130, 70, (32, 64, 32), torch.float16, torch.float16, "", "leaky_relu"),
    "leaky, in passes over the rows": (150, 260, 64, (128, 256, 64), torch.float16, torch.float32, "", "leaky_relu"),
    "a column beside it": (70, 64, 64, (64, 64, 64), torch.bfloat16, torch.bfloat16, "b", "bias"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_product(name):
    made, error = kernels.multiply(*CASES[name])
    record = labkit.triton.last()
    assert error <= 1 and not record.findings, record.report()
    text = made.asm["asc"].decode()
    assert ("__mix__(1, 2)" if CASES[name][-1] else "__cube__") in text
    assert "total = tl.dot(left, right, total)" in text


def test_what_the_cube_does_not_multiply():
    with pytest.raises(Refused, match="triton_kernels.py:.*tl.dot of .* is not there"):
        kernels.multiply(32, 32, 32, (32, 8, 32), torch.float16, torch.float32, "", "")


def test_rows_behind_the_end_that_are_stored_are_the_first_ones():
    """No mask of the store leaves them out, as tutorials do: so they may not be zeros."""
    m, n, depth = 20, 40, 32
    a, b = (torch.arange(r * c).reshape(r, c).remainder(17).half() - 8 for r, c in ((m, depth), (depth, n)))
    out = torch.zeros(32, 64, device="npu")
    kernels.wrapped[(1,)](a.npu(), b.npu(), out, m, n, BM=32, BN=64, BK=depth)
    want = (a.float() @ b.float())[torch.arange(32) % m][:, torch.arange(64) % n]
    assert torch.equal(out.cpu(), want) and not labkit.triton.last().findings
