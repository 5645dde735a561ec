"""lab::rms_norm and its backward: right for every shape, stride and offset, or refused with the reason."""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st
from ops_cases import TIMES  # noqa: E402
from ops_lab import ALLOWED, TYPES, close, golden, in_rows, laid, values  # noqa: E402

import labkit  # noqa: E402

pytestmark = simulated
HOME = "kernels/rms_norm/"
GOLD = golden("rms_norm")
ULPS = {torch.float16: 2, torch.bfloat16: 2, torch.float32: 8}
LAYOUTS = st.sampled_from(["plain", "packed", "offset", "turned"])


@pytest.fixture(scope="module")
def ops():
    labkit.register(HOME + "rms_norm_torch.asc")
    return torch.ops.lab


def sample(rows, width, dtype, seed=0):
    """(x, weight, dy): rows of very different size, and neither weight nor gradient the same anywhere."""
    x = values((rows, width), torch.float64, seed) * torch.logspace(-2, 1, rows, dtype=torch.float64)[:, None]
    return x.to(dtype), values((width,), dtype, seed + 1, 1.0), values((rows, width), dtype, seed + 2, 1.0)


@settings(max_examples=120)
@given(
    lead=st.lists(st.integers(0, 12), max_size=2),
    width=st.one_of(st.integers(1, 130), st.integers(500, 600)),
    how=st.lists(LAYOUTS, min_size=2, max_size=2),
    dtype=st.sampled_from(list(TYPES)),
    eps=st.sampled_from([1e-6, 1e-2]),
    seed=st.integers(0, 99),
)
def test_any_tensors(ops, lead, width, how, dtype, eps, seed):
    rows = torch.Size(lead).numel()
    x, weight, dy = (t.view(*lead, width) if t.dim() > 1 else t for t in sample(rows, width, dtype, seed))
    on, grad = laid(x, how[0]), laid(dy, how[1])
    if not in_rows(on):
        with pytest.raises(RuntimeError, match=r"call x\.contiguous\(\) first"):
            ops.rms_norm(on, weight.npu(), eps)
        return
    want, statistic = GOLD.rms_norm(x, weight, eps)
    y, rstd = ops.rms_norm(on, weight.npu(), eps)
    close(y, want, ULPS[dtype], 1e-6)
    close(rstd, statistic, 8)
    if not in_rows(grad):
        with pytest.raises(RuntimeError, match=r"call dy\.contiguous\(\) first"):
            ops.rms_norm_backward(grad, on, weight.npu(), rstd)
        return
    for got, right, scale in zip(
        ops.rms_norm_backward(grad, on, weight.npu(), rstd),
        GOLD.backward(dy, x, weight, statistic),
        GOLD.terms(dy, x, weight, statistic),
    ):
        close(got, right, ULPS[dtype], scale)


@pytest.mark.parametrize("dtype", list(TYPES))
@pytest.mark.parametrize("rows, width", [(3, 5121), (2, 8192), (5, 8193), (60, 9000), (1, 20001)])
def test_wide_rows(ops, rows, width, dtype):
    x, weight, dy = sample(rows, width, dtype)
    want, statistic = GOLD.rms_norm(x, weight)
    y, rstd = ops.rms_norm(laid(x, "packed"), weight.npu())
    close(y, want, ULPS[dtype], 1e-6)
    close(rstd, statistic, 8)
    for got, right, scale in zip(
        ops.rms_norm_backward(dy.npu(), x.npu(), weight.npu(), rstd),
        GOLD.backward(dy, x, weight, statistic),
        GOLD.terms(dy, x, weight, statistic),
    ):
        close(got, right, ULPS[dtype], scale)


def test_registered(ops):
    made = labkit.register(HOME + "rms_norm_torch.asc")
    assert made.names == ["lab::rms_norm", "lab::rms_norm_backward"] and made.keys("lab::rms_norm") == [
        "PrivateUse1",
        "Meta",
        "AutogradPrivateUse1",
    ]
    x, weight, dy = (t.npu() for t in sample(64, 512, torch.float16))
    parts = [ops.rms_norm_backward(dy, x, weight, ops.rms_norm(x, weight)[1])[1] for _ in range(2)]
    assert (
        torch.equal(*parts)
        and made.record.ok
        and made.record.blocks == TIMES.blocks_for("rms_norm_backward", 64, 512) == 12
    )


@pytest.mark.parametrize("shape", [(3, 50), (2, 3, 16), (0, 8)])
def test_opcheck(ops, shape):
    x, dy, weight = (
        values(shape, torch.float32, 0).npu(),
        values(shape, torch.float32, 1).npu(),
        values(shape[-1:], torch.float32, 2).npu(),
    )
    rstd = ops.rms_norm(x, weight)[1]
    for op, args in (
        (ops.rms_norm, (x.requires_grad_(), weight.requires_grad_(), 1e-5)),
        (ops.rms_norm_backward, (dy, x.detach(), weight.detach(), rstd)),
    ):
        assert set(torch.library.opcheck(op.default, args, test_utils=ALLOWED).values()) == {"SUCCESS"}


@pytest.mark.filterwarnings("ignore:Input #. requires gradient")
def test_gradients(ops):
    x, weight = (values(shape, torch.float32, i, 1.0).npu().requires_grad_() for i, shape in enumerate([(3, 7), (7,)]))
    assert torch.autograd.gradcheck(lambda a, w: ops.rms_norm(a, w)[0], (x, weight), eps=1e-2, atol=4e-3, rtol=4e-3)
    y, rstd = ops.rms_norm(x, weight)
    assert y.requires_grad and not rstd.requires_grad
    wide, other = (values(shape, torch.float32, 4, 1.0).requires_grad_() for shape in [(2, 6000), (6000,)])
    ops.rms_norm(wide.npu(), other.npu())[0].sum().backward()
    got = wide.grad.clone(), other.grad.clone()
    wide.grad = other.grad = None
    torch.nn.functional.rms_norm(wide, (6000,), other, 1e-6).sum().backward()
    torch.testing.assert_close(got, (wide.grad, other.grad), rtol=1e-4, atol=1e-5)


def test_refused(ops):
    x, weight = torch.ones(4, 6, device="npu"), torch.ones(6, device="npu")
    rstd = ops.rms_norm(x, weight)[1]
    for args, said in (
        ((x.int(), weight), "x is Int, the kernel takes"),
        ((x, weight.half()), "x is Float but weight is Half"),
        ((x, weight.cpu()), "weight is on cpu"),
        ((x, weight[:5]), r"weight has the shape \[5\], it must have one number for each column"),
        ((x[0, 0], weight), "one number for each column"),
    ):
        with pytest.raises(RuntimeError, match=said):
            ops.rms_norm(*args)
        if "cpu" not in said:
            with pytest.raises(RuntimeError, match=said):  # Meta says the same
                ops.rms_norm(*(t.to("meta") for t in args))
    with pytest.raises(RuntimeError, match="rstd is Half"):
        ops.rms_norm_backward(x, x, weight, rstd.half())
    with pytest.raises(RuntimeError, match=r"rms_norm gives Float\[4, 1\]"):
        ops.rms_norm_backward(x, x, weight, rstd[:2])


@pytest.mark.parametrize("rows, width", [(9000, 100), (3000, 600)])
def test_a_row_that_is_no_number_spoils_no_other(ops, rows, width):
    """Float is computed in place: the zeros behind a row's end have to stay for the row that comes there next."""
    x, weight, dy = (values(shape, torch.float32, 7, 1.0) for shape in [(rows, width), (width,), (rows, width)])
    x[5], x[77, 3], dy[200] = float("nan"), float("inf"), float("nan")
    y, rstd = ops.rms_norm(x.npu(), weight.npu())
    dx = ops.rms_norm_backward(dy.npu(), x.npu(), weight.npu(), rstd)[0]
    assert y.cpu().isnan().any(-1).nonzero().flatten().tolist() == [5, 77]
    assert dx.cpu().isnan().any(-1).nonzero().flatten().tolist() == [5, 77, 200]
