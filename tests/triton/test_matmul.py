"""tl.dot on the cube core, alone and with an epilogue on the vector cores."""

from __future__ import annotations

import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux x86_64 and aarch64 only")
torch = pytest.importorskip("torch")

import labkit.triton

labkit.triton.install()
import triton_kernels as kernels

from labkit.triton.refused import Refused

UNIT = {torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}
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


def multiply(m, n, k, blocks, kind, out, turned, act, wrong=None):
    generator = torch.Generator().manual_seed(m + n + k)
    a, b = (torch.randint(-8, 9, shape, generator=generator) / 8 for shape in ((m, k), (k, n)))
    x = a.t().contiguous().to(kind).npu().t() if "a" in turned else a.to(kind).npu()
    y = b.t().contiguous().to(kind).npu().t() if "b" in turned else b.to(kind).npu()
    c = torch.zeros(m, n, dtype=out).npu()
    bm, bn, bk = blocks
    grid = (-(-m // bm) * -(-n // bn),)
    made = kernels.matmul[grid](
        x, y, c, m, n, k, *x.stride(), *y.stride(), *c.stride(), BM=bm, BN=bn, BK=bk, GROUP=4, ACT=act
    )  # fmt: skip
    want = a @ b
    if act == "leaky_relu":
        want = torch.where(want >= 0, want, 0.01 * want)
    if act == "bias":
        want += torch.arange(m)[:, None] * 0.5
    return made, ((c.cpu().float() - want).abs() / want.abs().clamp(min=1)).max().item() / UNIT[out]


@pytest.mark.parametrize("name", CASES)
def test_a_product(name):
    made, error = multiply(*CASES[name])
    record = labkit.triton.last()
    assert error <= 1 and not record.findings, record.report()
    text = made.asm["asc"].decode()
    assert ("__mix__(1, 2)" if CASES[name][-1] else "__cube__") in text
    assert "total = tl.dot(left, right, total)" in text


def test_what_the_cube_does_not_multiply():
    with pytest.raises(Refused, match="triton_kernels.py:.*tl.dot of f32 is not there"):
        multiply(32, 32, 32, (32, 32, 32), torch.float32, torch.float32, "", "")
