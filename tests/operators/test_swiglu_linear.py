"""lab::swiglu_linear and its backward: right for every shape and layout, or refused with the reason; what PyTorch asks
of it; and the README's table of what the fusion gains, on the modelled clock."""

from __future__ import annotations

import os
import runpy
import sys

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from drawn import examples  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st
from ops_lab import ALLOWED, TYPES, close, golden  # noqa: E402

import labkit  # noqa: E402
import labkit.device as device  # noqa: E402
from labkit import paths  # noqa: E402

pytestmark = simulated
GOLD = golden("swiglu_linear")
ULPS = {torch.float16: 2, torch.bfloat16: 2, torch.float32: 16}
KINDS = st.sampled_from(list(TYPES))


@pytest.fixture(scope="module")
def made():
    return labkit.register("kernels/swiglu_linear/swiglu_linear_torch.asc", timeout=60)


@pytest.fixture(scope="module")
def op(made):
    return torch.ops.lab.swiglu_linear


def values(shape, dtype, seed, size=1.0):
    return (size * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)).to(dtype)


def operands(lead, h, i, dtype, seed=0):
    small = max(h, 1) ** -0.5
    return (
        values((*lead, h), dtype, seed),
        values((i, h), dtype, seed + 1, small),
        values((i, h), dtype, seed + 2, small),
    )


def laid(x, how):
    """The same numbers on the device: "packed" beside a neighbour,
    "offset" one element into its memory, "turned" by columns.
    """
    if how == "packed":
        return torch.cat([x.flip(-1), x], -1).npu()[..., x.shape[-1] :]
    if how == "offset":
        return torch.cat([x.new_zeros(1), x.flatten()]).npu()[1:].view(x.shape)
    if how == "turned":
        return x.transpose(0, -1).contiguous().npu().transpose(0, -1)
    return x.npu()


def right(y, x, w_gate, w_up):
    rows = x.reshape(-1, x.shape[-1]) if x.shape[-1] else x.new_zeros(y[..., 0].numel() if y.shape[-1] else 0, 0)
    if not y.numel():
        return
    scale = GOLD.terms(rows, w_gate, w_up) * (8 * 2**-23 / torch.finfo(x.dtype).eps if x.dtype != torch.float32 else 1)
    close(y.reshape(-1, y.shape[-1]), GOLD.golden(rows, w_gate, w_up)[0].to(x.dtype), ULPS[x.dtype], scale)


@settings(max_examples=examples(220))
@given(
    lead=st.lists(st.integers(0, 9), max_size=2),
    rows=st.integers(0, 80),
    h=st.integers(0, 90),
    deep=st.integers(0, 3),
    i=st.integers(0, 150),
    how=st.sampled_from(["plain", "packed", "offset", "turned"]),
    weights=st.sampled_from(["plain", "plain", "offset", "turned"]),
    dtype=KINDS,
    other=KINDS,
    wrong=st.sampled_from([None] * 8 + ["dtype", "device", "shape"]),
    seed=st.integers(0, 99),
)
def test_any_tensors(made, op, lead, rows, h, deep, i, how, weights, dtype, other, wrong, seed):
    if lead:
        lead[-1] = rows
    h += 100 * deep
    x, w_gate, w_up = operands(lead, h, i, dtype, seed)
    xd, gd, ud = laid(x, how), laid(w_gate, weights), w_up.npu()
    if wrong == "dtype" and other != dtype:
        with pytest.raises(
            RuntimeError, match="lab::swiglu_linear: x is .* but w_up is .*; convert one of them|not contiguous"
        ):
            op(xd, gd, ud.to(other))
    elif wrong == "device":
        with pytest.raises(RuntimeError, match="lab::swiglu_linear: x is on npu:0 but w_up is on cpu|not contiguous"):
            op(xd, gd, w_up)
    elif wrong == "shape":
        with pytest.raises(RuntimeError, match="rows of x have|w_gate has the shape"):
            op(xd, gd, torch.ones(i, h + 1, device="npu", dtype=dtype))
    elif not gd.is_contiguous():
        with pytest.raises(RuntimeError, match=r"w_gate is not contiguous; call w_gate.contiguous\(\) once"):
            op(xd, gd, ud)
    else:
        made.record = None
        y = op(xd, gd, ud)
        assert y.shape == (*lead, i) and y.dtype == dtype and y.is_contiguous()
        assert (made.record is None) == (y.numel() == 0 or h == 0) and (made.record is None or not made.record.findings)
        right(y, x, w_gate, w_up)


@settings(max_examples=40)
@given(
    lead=st.lists(st.integers(0, 40), max_size=2),
    h=st.integers(0, 70),
    i=st.integers(0, 70),
    dtype=KINDS,
    how=st.sampled_from(["plain", "turned"]),
    seed=st.integers(0, 99),
)
def test_any_gradients(made, op, lead, h, i, dtype, how, seed):
    tensors, grad = operands(lead, h, i, dtype, seed), values((*lead, i), dtype, seed + 3)
    leaves = [t.npu().requires_grad_() for t in tensors]
    y = op(leaves[0].transpose(0, -1).contiguous().transpose(0, -1) if how == "turned" else leaves[0], *leaves[1:])
    y.backward(laid(grad, how))
    right(y.detach(), *tensors)
    x, w_gate, w_up = (t.double() for t in tensors)
    x, gate, up = (
        x.reshape(-1, h) if h else x.new_zeros(grad[..., 0].numel() if i else 0, 0),
        *(GOLD.golden(x.reshape(-1, h), w_gate, w_up)[1:] if h else [None] * 2),
    )
    if gate is None or not gate.numel():
        assert not any(leaf.grad.count_nonzero() for leaf in leaves)
        return
    dg, du = GOLD.golden_slopes(grad.reshape(-1, i), gate, up)
    # dg and du come of rounded numbers of this size
    bound = grad.reshape(-1, i).double().abs() * (1 + gate.abs()) * (1 + up.abs())
    for leaf, want, scale in (
        (leaves[0], dg @ w_gate + du @ w_up, bound @ (w_gate.abs() + w_up.abs())),
        (leaves[1], dg.T @ x, bound.T @ x.abs()),
        (leaves[2], du.T @ x, bound.T @ x.abs()),
    ):
        close(leaf.grad.reshape(want.shape), want.to(dtype), 2, 2 * scale)


# ---- what PyTorch asks of an operator


def test_registered(made, op):
    assert made.names == ["lab::swiglu_linear", "lab::swiglu_linear_backward", "lab::swiglu_linear_keep"]
    assert made.keys("lab::swiglu_linear") == ["PrivateUse1", "Meta", "AutogradPrivateUse1"]
    x, w_gate, w_up = (t.npu() for t in operands((200,), 60, 70, torch.float16))
    device.reset_clock()
    op(x, w_gate, w_up)
    assert [s.name for s in device.timeline()] == ["swiglu_linear"], "one launch, and no copy"
    assert made.record.blocks == GOLD.forward(x, w_gate, w_up)[0].blocks == 20
    leaves = [t.requires_grad_() for t in (x, w_gate, w_up)]
    y = op(*leaves)
    device.reset_clock()
    y.backward(torch.ones_like(y))
    assert [s.name for s in device.timeline() if s.name.startswith("swiglu")] == [
        "swiglu_slopes",
        "swiglu_dx",
        "swiglu_dw",
    ]
    assert (
        made.record.kernel == "swiglu_dw"
        and made.record.blocks
        == GOLD.backward(y.detach(), *(t.detach() for t in leaves), y.detach(), y.detach())[0][2].blocks
        == 24
    )
    assert not any("mm" in s.name or "linear" == s.name for s in device.timeline())


def test_only_what_is_wanted(op):
    """Frozen weights: no launch for their gradients. Nothing to differentiate: nothing is kept."""
    x, w_gate, w_up = (t.npu() for t in operands((64,), 80, 4096, torch.float16))
    device.reset_clock()
    op(x.requires_grad_(), w_gate, w_up).sum().backward()
    assert "swiglu_dw" not in [s.name for s in device.timeline()]
    with torch.no_grad():
        torch.npu.reset_peak_memory_stats()
        before = torch.npu.memory_allocated()
        y = op(x, w_gate, w_up)
        assert torch.npu.memory_allocated() - before <= y.numel() * 2 + 512
        assert torch.npu.max_memory_allocated() - before < y.numel() * 2 + 6_400_000


@pytest.mark.parametrize("lead", [(3, 5), (2, 0), ()])
@pytest.mark.parametrize("dtype", list(TYPES))
def test_opcheck(op, lead, dtype):
    x, w_gate, w_up = (t.npu() for t in operands(lead, 20, 30, dtype))
    gate, up, grad = (values((*lead, 30), dtype, s).npu() for s in (3, 4, 5))
    for one, args in (
        (op, tuple(t.requires_grad_() for t in (x, w_gate, w_up))),
        (torch.ops.lab.swiglu_linear_keep, (x.detach(), w_gate.detach(), w_up.detach())),
        (
            torch.ops.lab.swiglu_linear_backward,
            (grad, x.detach(), w_gate.detach(), w_up.detach(), gate, up, True, True),
        ),
    ):
        assert set(torch.library.opcheck(one.default, args, test_utils=ALLOWED).values()) == {"SUCCESS"}


@pytest.mark.filterwarnings("ignore:Input #. requires gradient")
def test_gradients(op):
    leaves = [t.npu().requires_grad_() for t in operands((2, 3), 7, 5, torch.float32)]
    assert torch.autograd.gradcheck(op, leaves, eps=1e-2, atol=2e-3, rtol=2e-3)
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(op(*leaves).sum(), leaves[0], create_graph=True)


def test_compiled_and_autocast(op):
    leaves = [t.npu().requires_grad_() for t in operands((4,), 40, 50, torch.float32)]
    compiled = torch.compile(lambda *a: op(*a) * 2, backend="npu", fullgraph=True, dynamic=True)
    compiled(*leaves).sum().backward()
    alone = [t.grad.clone() for t in leaves]
    for t in leaves:
        t.grad = None
    (op(*leaves) * 2).sum().backward()
    for got, leaf in zip(alone, leaves):
        torch.testing.assert_close(got, leaf.grad)
    with torch.autocast("npu", dtype=torch.bfloat16):
        y = op(*leaves)
    y.sum().backward()
    assert y.dtype == torch.bfloat16 and leaves[0].grad.dtype == torch.float32


def test_refused(op):
    x, w = torch.ones(4, 6, device="npu"), torch.ones(3, 6, device="npu")
    for args, said in (
        ((x.double(), w.double(), w.double()), "x is Double, the kernel takes"),
        ((x, w[0], w), "they are x .* and weights"),
        ((x, w, w[:2]), "w_up has"),
        ((x, w.T, w.T), "nn.Linear keeps them"),
        ((x[0, 0], w, w), "x has 0 dimensions"),
        ((x.to("meta"), w.to("meta"), w[:2].to("meta")), "w_up has"),
        (
            (
                torch.ones(1, 65536, device="npu"),
                torch.ones(1, 65536, device="npu"),
                torch.ones(1, 65536, device="npu"),
            ),
            "at most 65535",
        ),
    ):
        with pytest.raises(RuntimeError, match=said):
            op(*args)
    with pytest.raises(NotImplementedError, match="'CPU' backend"):
        op(x.cpu(), w.cpu(), w.cpu())
    with pytest.raises(RuntimeError, match="grad is Float of shape .*, not what the forward gave"):
        torch.ops.lab.swiglu_linear_backward(x, x, w, w, x @ w.T, x @ w.T)


# ---- what the fusion gains


@pytest.fixture(scope="module")
def speedup():
    sys.modules["golden"] = GOLD
    try:
        return runpy.run_path(str(paths.kernels_dir() / "swiglu_linear" / "speedup.py"))
    finally:
        del sys.modules["golden"]


def test_the_table_is_what_the_clock_gives(speedup):
    kept = {row["shape"]: row for row in speedup["load"]()}
    assert list(kept) == list(speedup["SHAPES"]) and speedup["markdown"](list(kept.values())) in (
        paths.kernels_dir() / "README.md"
    ).read_text(encoding="utf-8")
    for name, shape in speedup["SHAPES"].items():
        if shape[0] > 32:
            continue  # the large ones: below
        row = speedup["measure"](name, shape)
        for key, value in row.items():
            assert kept[name][key] == (
                pytest.approx(value, rel=0.02, abs=0.06) if isinstance(value, float) else value
            ), (name, key)
        assert row["fused_bound"] == "hbm"
    chip = labkit.chips.load("910B1")
    for name, (m, h, i) in speedup["SHAPES"].items():
        row, mixed = kept[name], chip["launch"]["mixed"] * 1e6
        if m > 32:
            assert 1 < row["speedup"] < 2, "the products are the same: no wonders"
        else:  # both weights once over HBM, and a mixed launch begins later than three launches more take
            least = 2 * h * i * 2 / chip["gm"]["hbm"] * 1e6
            assert least < row["fused_us"] - mixed < 1.06 * least and least < row["unfused_us"], name
            assert (row["fused_us"] - mixed) * 1.03 < row["unfused_us"] < 1.05 * row["fused_us"], name


def test_what_ran_before_does_not_show(speedup):
    """The L2 full of another launch's results, all to be written back: the times are those after nothing."""
    times = [speedup["measure"]("", (1, 2048, 3000))]
    n = 1 << 26
    x, y = (torch.empty(n, dtype=torch.float16, device="npu") for _ in range(2))
    GOLD.kernel("unfused.asc", "silu<half>", timing_only=True, l2="warm")[48](x, y, n)
    times.append(speedup["measure"]("", (1, 2048, 3000)))
    for key in speedup["FIELDS"]:
        if key.endswith("_us"):
            assert times[1][key] == pytest.approx(times[0][key], rel=0.01), key


def test_the_cubes_are_busy_at_the_published_shape(speedup):
    """M = 32 x 512 tokens, H = 4096, I = 16384: 4.4 TFLOP in one launch."""
    m, h, i = speedup["SHAPES"]["published, B=32 S=512"]
    x, w_gate, w_up = (torch.empty(s, dtype=torch.float16, device="npu") for s in ((m, h), (i, h), (i, h)))
    record = GOLD.forward(x, w_gate, w_up, how={"timing_only": True})[0]
    assert record.finished and not record.extrapolated and speedup["utilisation"](record) >= 0.75
    kept = speedup["load"]()[0]
    assert (
        record.time_us == pytest.approx(kept["fused_us"], rel=0.02) and record.time_us > 4 * m * h * i / 364e12 * 1e6
    ), "no faster than 24 cubes at 1.85 GHz can"
