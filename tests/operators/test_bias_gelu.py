"""lab::bias_gelu and its backward: right for every shape, stride and offset, or refused with the reason."""

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
HOME = "kernels/bias_gelu/"
FILE = HOME + "bias_gelu.asc"
GOLD = golden("bias_gelu")
ULPS = {torch.float16: 2, torch.bfloat16: 2, torch.float32: 8}
LAYOUTS = st.sampled_from(["plain", "packed", "offset", "turned"])


@pytest.fixture(scope="module")
def ops():
    labkit.register(HOME + "bias_gelu_torch.asc")
    return torch.ops.lab


def sample(shape, dtype, seed=0):
    """(x, bias, dy); x + bias reaches from where gelu is 0 to where it is x + bias."""
    return (
        values(shape, dtype, seed, 3.0),
        values(shape[-1:], dtype, seed + 1, 2.0),
        values(shape, dtype, seed + 2, 1.0),
    )


@settings(max_examples=120)
@given(
    lead=st.lists(st.integers(0, 12), max_size=2),
    width=st.integers(0, 300),
    how=st.lists(LAYOUTS, min_size=2, max_size=2),
    dtype=st.sampled_from(list(TYPES)),
    seed=st.integers(0, 99),
)
def test_any_tensors(ops, lead, width, how, dtype, seed):
    x, bias, dy = sample((*lead, width), dtype, seed)
    on, grad = laid(x, how[0]), laid(dy, how[1])
    scale, *scales = GOLD.terms(dy, x, bias)
    if not in_rows(on):
        with pytest.raises(RuntimeError, match=r"call x\.contiguous\(\) first"):
            ops.bias_gelu(on, bias.npu())
        return
    close(ops.bias_gelu(on, bias.npu()), GOLD.bias_gelu(x, bias), ULPS[dtype], scale)
    if not in_rows(grad):
        with pytest.raises(RuntimeError, match=r"call dy\.contiguous\(\) first"):
            ops.bias_gelu_backward(grad, on, bias.npu())
        return
    for got, want, scale in zip(ops.bias_gelu_backward(grad, on, bias.npu()), GOLD.backward(dy, x, bias), scales):
        close(got, want, ULPS[dtype], scale)


@pytest.mark.parametrize("dtype", list(TYPES))
def test_extremes(ops, dtype):
    z = torch.tensor([-6e4, -200, -30, -10, -5, -3, -0.0, 0.0, 1e-7, 3, 10, 200, 6e4]).to(dtype)[:, None]
    none, one = torch.zeros(1, dtype=dtype), torch.ones_like(z)
    scales = GOLD.terms(one, z, none)
    close(ops.bias_gelu(z.npu(), none.npu()), GOLD.bias_gelu(z, none), ULPS[dtype], scales[0])
    close(
        ops.bias_gelu_backward(one.npu(), z.npu(), none.npu())[0],
        GOLD.backward(one, z, none)[0],
        ULPS[dtype],
        scales[1],
    )


def test_it_is_the_tanh_form(ops):
    x = torch.linspace(-6, 6, 1001)
    torch.testing.assert_close(
        ops.bias_gelu(x.npu(), torch.zeros(1001).npu()).cpu(),
        torch.nn.functional.gelu(x, approximate="tanh"),
        rtol=1e-5,
        atol=2e-6,
    )


def test_registered(ops):
    made = labkit.register(FILE.replace(".asc", "_torch.asc"))
    assert made.names == ["lab::bias_gelu", "lab::bias_gelu_backward"] and made.keys("lab::bias_gelu") == [
        "PrivateUse1",
        "Meta",
        "AutogradPrivateUse1",
    ]
    x, bias, dy = (t.npu() for t in sample((64, 512), torch.float16))
    assert (
        torch.equal(*(ops.bias_gelu_backward(dy, x, bias)[1] for _ in range(2)))
        and made.record.ok
        and made.record.blocks == TIMES.blocks_for("bias_gelu_backward", 64, 512) == 16
    )


@pytest.mark.parametrize("shape", [(3, 50), (2, 3, 16), (0, 8)])
def test_opcheck(ops, shape):
    x, bias, dy = (t.npu() for t in sample(shape, torch.float32))
    for op, args in (
        (ops.bias_gelu, (x.requires_grad_(), bias.requires_grad_())),
        (ops.bias_gelu_backward, (dy, x.detach(), bias.detach())),
    ):
        assert set(torch.library.opcheck(op.default, args, test_utils=ALLOWED).values()) == {"SUCCESS"}


@pytest.mark.filterwarnings("ignore:Input #. requires gradient")
def test_gradients(ops):
    x, bias = (values(shape, torch.float32, i, 1.0).npu().requires_grad_() for i, shape in enumerate([(3, 7), (7,)]))
    assert torch.autograd.gradcheck(ops.bias_gelu, (x, bias), eps=1e-2, atol=4e-3, rtol=4e-3)


def test_refused(ops):
    x, bias = torch.ones(4, 6, device="npu"), torch.ones(6, device="npu")
    for args, said in (
        ((x.int(), bias), "x is Int, the kernel takes"),
        ((x, bias.half()), "x is Float but bias is Half"),
        ((x, bias.cpu()), "bias is on cpu"),
        ((x, bias[:5]), r"bias has the shape \[5\], it must have one number for each column"),
    ):
        with pytest.raises(RuntimeError, match=said):
            ops.bias_gelu(*args)
        if "cpu" not in said:
            with pytest.raises(RuntimeError, match=said):  # Meta says the same
                ops.bias_gelu(*(t.to("meta") for t in args))
