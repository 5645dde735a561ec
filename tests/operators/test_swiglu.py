"""lab::swiglu and its backward: right for every shape, stride and offset, or refused with the reason."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st
from ops_cases import TIMES  # noqa: E402
from ops_lab import ALLOWED, TYPES, close, golden, in_rows, laid, values  # noqa: E402

import labkit  # noqa: E402
import labkit.device as device  # noqa: E402

pytestmark = simulated
GOLD = golden("swiglu")
# float: the exponential and the roundings behind it; 16 bits: the result's own
ULPS = {torch.float16: 2, torch.bfloat16: 2, torch.float32: 8}
KINDS = st.sampled_from(list(TYPES))


@pytest.fixture(scope="module")
def ops():
    labkit.register("kernels/swiglu/swiglu_torch.asc")
    return torch.ops.lab


@settings(max_examples=320)
@given(
    shape=st.lists(st.integers(0, 40), max_size=3),
    wide=st.integers(0, 3),
    how=st.lists(st.sampled_from(["plain", "packed", "offset", "turned"]), min_size=3, max_size=3),
    dtype=KINDS,
    other=KINDS,
    wrong=st.sampled_from([None] * 6 + ["dtype", "device", "shape"]),
    seed=st.integers(0, 99),
)
def test_any_tensors(ops, shape, wide, how, dtype, other, wrong, seed):
    if shape:
        shape[-1] += 100 * wide
    gate, up, grad = (values(shape, dtype, seed + i) for i in range(3))
    g, u, d = (laid(x, h) for x, h in zip((gate, up, grad), how))
    if wrong == "dtype" and other != dtype:
        with pytest.raises(RuntimeError, match="lab::swiglu: gate is .* but up is .*; convert one of them"):
            ops.swiglu(g, u.to(other))
    elif wrong == "device":
        with pytest.raises(RuntimeError, match="lab::swiglu: gate is on npu:0 but up is on cpu"):
            ops.swiglu(g, up)
    elif wrong == "shape":
        with pytest.raises(RuntimeError, match="the kernel does not broadcast"):
            ops.swiglu(g, u[None])
    else:
        for op, tensors, want, scales in (
            (ops.swiglu, (g, u), lambda: [GOLD.swiglu(gate, up)], lambda: [0]),
            (
                ops.swiglu_backward,
                (d, g, u),
                lambda: GOLD.backward(grad, gate, up),
                lambda: [GOLD.terms(grad, gate, up), 0],
            ),
        ):
            if not all(in_rows(t) for t in tensors):
                with pytest.raises(RuntimeError, match=r"call (gate|up|grad)\.contiguous\(\) first"):
                    op(*tensors)
                continue
            got = op(*tensors)
            for one, right, scale in zip(got if isinstance(got, tuple) else (got,), want(), scales()):
                close(one, right, ULPS[dtype], scale)


def test_extremes(ops):
    g = torch.tensor([-1e4, -200, -90, -88, -17, -1.2784, -0.0, 0.0, 1e-7, 17, 88, 1e4, float("inf"), float("nan")])
    u = torch.linspace(0.5, 2, len(g))
    for dtype in TYPES:
        gate, up = g.to(dtype), u.to(dtype)
        close(ops.swiglu(gate.npu(), up.npu()), GOLD.swiglu(gate, up), ULPS[dtype], 1e-30)
        finite = slice(0, -2)
        got, want = ops.swiglu_backward(up.npu(), gate.npu(), up.npu()), GOLD.backward(up, gate, up)
        close(got[0][finite], want[0][finite], ULPS[dtype], GOLD.terms(up, gate, up)[finite].clamp(min=1e-30))
        close(got[1][finite], want[1][finite], ULPS[dtype], 1e-30)


# ---- what PyTorch asks of an operator


def test_registered(ops):
    made = labkit.register("kernels/swiglu/swiglu_torch.asc")
    assert made.names == ["lab::swiglu", "lab::swiglu_backward"]
    assert made.keys("lab::swiglu") == ["PrivateUse1", "Meta", "AutogradPrivateUse1"] and made.keys(
        "lab::swiglu_backward"
    ) == ["PrivateUse1", "Meta"]
    g, u = values((16, 600), torch.float16, 0).npu().chunk(2, -1)
    device.reset_clock()
    ops.swiglu(g, u)
    assert [s.name for s in device.timeline()] == ["swiglu"], "no copy of the halves"
    assert made.record.ok and made.record.blocks == TIMES.blocks_for("swiglu", 16, 300) == 4
    stream = torch.npu.Stream()
    with torch.npu.stream(stream):
        ops.swiglu(g, u)
    assert [s.stream for s in device.timeline() if s.name == "swiglu"] == [
        torch.npu.default_stream().stream_id,
        stream.stream_id,
    ]


_TWO = """
import torch, labkit
labkit.register("kernels/swiglu/swiglu_torch.asc")
x = torch.ones(3, 64, device="npu:1")
assert torch.npu.current_device() == 0 and torch.ops.lab.swiglu(x, x).device == x.device
assert torch.npu.current_device() == 0 and torch.ops.lab.swiglu_backward(x, x, x)[1].device == x.device
try:
    torch.ops.lab.swiglu(x, x.to("npu:0"))
except RuntimeError as error:
    assert "gate is on npu:1 but up is on npu:0" in str(error)
else:
    raise SystemExit("no error")
"""


def test_two_devices(ops):
    run = subprocess.run(
        [sys.executable, "-c", _TWO], env={**os.environ, "LABKIT_NPUS": "2"}, capture_output=True, text=True
    )
    assert run.returncode == 0 and "error" not in run.stdout, run.stdout + run.stderr[-2000:]


@pytest.mark.parametrize("shape", [(3, 50), (2, 0), ()])
@pytest.mark.parametrize("dtype", list(TYPES))
def test_opcheck(ops, shape, dtype):
    g, u, d = (values(shape, dtype, i).npu() for i in range(3))
    for op, args in (
        (ops.swiglu, (g.requires_grad_(), u.requires_grad_())),
        (ops.swiglu_backward, (d, g.detach(), u.detach())),
    ):
        assert set(torch.library.opcheck(op.default, args, test_utils=ALLOWED).values()) == {"SUCCESS"}


@pytest.mark.filterwarnings("ignore:Input #. requires gradient")
def test_gradients(ops):
    g, u = (values((3, 11), torch.float32, i, 1.5).npu().requires_grad_() for i in range(2))
    assert torch.autograd.gradcheck(ops.swiglu, (g, u), eps=1e-2, atol=2e-3, rtol=2e-3)
    packed = values((4, 30), torch.float32, 5).npu().requires_grad_()  # gradients of two halves meet in one tensor
    ops.swiglu(*packed.chunk(2, -1)).sum().backward()
    gate, up = packed.detach().cpu().chunk(2, -1)
    for got, want in zip(packed.grad.cpu().chunk(2, -1), GOLD.backward(torch.ones(4, 15), gate, up)):
        torch.testing.assert_close(got, want)
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(ops.swiglu(g, u).sum(), g, create_graph=True)


def test_compiled(ops):
    g, u = (values((5, 40), torch.float16, i).npu().requires_grad_() for i in range(2))
    compiled = torch.compile(lambda a, b: ops.swiglu(a, b) * 2, backend="npu", fullgraph=True, dynamic=True)
    compiled(g, u).sum().backward()
    close(compiled(g, u), ops.swiglu(g, u) * 2, 0)
    close(g.grad, GOLD.backward(torch.full((5, 40), 2.0), g.detach().cpu(), u.detach().cpu())[0].half(), 2)


def test_refused(ops):
    x = torch.ones(4, 6, device="npu")
    with pytest.raises(RuntimeError, match="gate is Double, the kernel takes float16, bfloat16 and float32"):
        ops.swiglu(x.double(), x.double())
    with pytest.raises(NotImplementedError, match="'CPU' backend"):
        ops.swiglu(x.cpu(), x.cpu())
    with pytest.raises(RuntimeError, match="do not lie at one distance"):
        ops.swiglu(x[:1].expand(4, 6), x)
    with pytest.raises(RuntimeError, match="does not broadcast"):  # Meta says the same
        ops.swiglu(x.to("meta"), x[:1].to("meta"))
